import { Injectable } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import type { Text } from '@parley/contracts/paging';
import { ParleyClient } from '@parley/transport/parley-client';
import type { FastifyReply } from 'fastify';
import { ChatCallersCache } from '../auth/chat-callers.cache';
import { type ForwardedRequest, webhookIdOf } from '../bodies/forwarded-request';
import type { ValidExchange } from './contract.pipe';
import { TextDownloadLimiter } from './text-download.limiter';

/** Forwards requests to the operations of services. */
@Injectable()
export class ForwardingService {
  private readonly textDownloads = new TextDownloadLimiter();

  constructor(
    private readonly client: ParleyClient,
    private readonly chatCallers: ChatCallersCache,
  ) {}

  /** Returns the body of the response, and sets its headers. Throws the service's ApiError, OperationTimeout or 503. */
  async forward({ operation, request, reply, input }: ValidExchange): Promise<string> {
    const caller = request.caller!;
    if (operation.contentType) this.textDownloads.admit(reply.raw);
    const { text, isReplayed } = await this.client.request(operation, caller, input);
    this.accept(caller, request);
    if (isReplayed) reply.header('idempotent-replayed', 'true');
    if (operation.contentType) return this.textOf(operation.contentType, text, reply);
    reply.type('application/json; charset=utf-8');
    return text;
  }

  /** The service has accepted the request, and with it the user key. */
  private accept(caller: Caller, request: ForwardedRequest): void {
    request.prove?.();
    if (request.incoming && caller.credential === 'user') this.chatCallers.accepted(caller, webhookIdOf(request));
  }

  /** Text content of users: the sandbox policy keeps browsers from running it. */
  private textOf(contentType: string, text: string, reply: FastifyReply): string {
    reply.header('content-security-policy', "sandbox; default-src 'none'").type(contentType);
    return (JSON.parse(text) as Text).text;
  }
}
