import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { isUnauthenticated } from '@parley/contracts/access';
import type { AnswerSubjects, StreamedAnswer } from '@parley/contracts/answer-streams';
import type { Caller } from '@parley/contracts/caller';
import type { Text } from '@parley/contracts/paging';
import { warningHeader } from '@parley/contracts/warning';
import { AnswerReceiver } from '@parley/transport/answer-receiver';
import { ParleyClient } from '@parley/transport/parley-client';
import type { Reply } from '@parley/transport/envelope';
import { toApiError } from '@parley/service/error-body';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import type { FastifyReply } from 'fastify';
import { ChatCallersCache } from '../auth/chat-callers.cache';
import { type ForwardedRequest, webhookIdOf } from '../bodies/forwarded-request';
import { RateLimiter } from '../rate-limits/rate.limiter';
import { ChatUserLimiter } from './chat-user.limiter';
import type { ValidExchange } from './contract.pipe';
import { GeneratedContentService } from './generated-content.service';
import { TextDownloadLimiter } from './text-download.limiter';

/** Characters of a header: proxies refuse responses whose headers have more than 4 to 8 kB in all. */
const maxHeaderLength = 1_000;

/** Forwards requests to the operations of services. */
@Injectable()
export class ForwardingService {
  private readonly textDownloads = new TextDownloadLimiter();

  constructor(
    private readonly client: ParleyClient,
    private readonly chatCallers: ChatCallersCache,
    private readonly limits: RateLimiter,
    private readonly unauthenticated: UnauthenticatedShare,
    private readonly chatUsers: ChatUserLimiter,
    private readonly generated: GeneratedContentService,
  ) {}

  /** Returns the body of the response, and sets its headers. Throws the service's ApiError, OperationTimeout or 503. */
  async forward(exchange: ValidExchange): Promise<string | Readable> {
    const { operation, request, reply } = exchange;
    if (operation.answers) return this.forwardStreamed(exchange, operation.answers as AnswerSubjects);
    const caller = request.caller!;
    if (operation.contentType) this.textDownloads.admit(reply.raw);
    const { text, isReplayed, warning } = isUnauthenticated(operation.access)
      ? await this.unauthenticated.run(request, () => this.send(exchange))
      : await this.send(exchange);
    this.confirm(caller, request);
    if (isReplayed) reply.header('idempotent-replayed', 'true');
    if (warning !== undefined) reply.header(warningHeader, inHeader(warning));
    if (operation.contentType) return this.textOf(operation.contentType, text, reply);
    reply.type('application/json; charset=utf-8');
    return text;
  }

  /** Forwards a request whose answer may be streamed. The service gets to know when the client goes. */
  private async forwardStreamed({ operation, request, reply, input }: ValidExchange, streams: AnswerSubjects) {
    const caller: Caller = { ...request.caller!, answerKey: randomUUID() };
    const receiver = new AnswerReceiver(this.client, streams, caller, caller.answerKey!);
    const leave = () => receiver.destroy();
    // Fastify adds listeners of its own while it sends a stream.
    reply.raw.setMaxListeners(20).once('close', leave);
    // The client's connection is destroyed without a last chunk; the log line of the request has its status.
    receiver.on('error', () => reply.raw.destroy());
    try {
      // The subscription precedes the request on the same connection: its confirmation need not.
      const ready = receiver.ready().catch((error: unknown) => {
        receiver.destroy();
        throw error;
      });
      const [{ text }] = await Promise.all([this.client.request(operation, caller, input), ready]);
      const contentType = streamedTypeOf(text);
      reply.type(contentType ?? 'application/json; charset=utf-8');
      if (contentType === undefined) {
        receiver.dismiss();
        return operation.storedField ? await this.generated.inAnswer(text, { operation, caller, input }) : text;
      }
      receiver.start();
      // From here on, Fastify destroys the stream when the client goes.
      reply.raw.off('close', leave);
      if (!operation.storedField) return receiver;
      const lines = this.generated.inLines(receiver as AsyncIterable<Buffer>, { operation, caller, input });
      lines.on('error', () => reply.raw.destroy());
      return lines;
    } catch (error) {
      receiver.dismiss();
      throw error;
    }
  }

  private async send({ operation, request, input }: ValidExchange): Promise<Reply> {
    const caller = request.caller!;
    const ask = () => this.client.request(operation, caller, input);
    try {
      return await (caller.userKey === undefined ? ask() : this.chatUsers.run(caller.userKey, ask));
    } catch (error) {
      if (caller.credential === 'user' && toApiError(error).type === 'Unauthorized')
        this.limits.forgetCredential(caller);
      throw error;
    }
  }

  /** The service has accepted the request, and with it the user key. */
  private confirm(caller: Caller, request: ForwardedRequest): void {
    request.confirmCredential?.();
    if (request.incoming && caller.credential === 'user') this.chatCallers.confirm(caller, webhookIdOf(request));
  }

  /** Text content of users: the sandbox policy keeps browsers from running it. */
  private textOf(contentType: string, text: string, reply: FastifyReply): string {
    reply.header('content-security-policy', "sandbox; default-src 'none'").type(contentType);
    return (JSON.parse(text) as Text).text;
  }
}

/** Content type of a streamed answer; undefined for an answer in one piece. */
function streamedTypeOf(text: string): string | undefined {
  return text.startsWith('{"streams":') ? (JSON.parse(text) as StreamedAnswer).streams : undefined;
}

/** One line of printable ASCII: headers carry nothing else. */
function inHeader(text: string): string {
  const line = text.slice(0, maxHeaderLength).replaceAll(/\s+/g, ' ').trim();
  return line.replaceAll(/[^ -~]/g, '?');
}
