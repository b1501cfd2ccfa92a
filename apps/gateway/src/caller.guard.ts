import { randomUUID } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { type Access, authorize } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { credentialsChanged, type Identify, type Identity } from '@parley/contracts/admin/identity';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { hashToken, tokenKind } from '@parley/secrets/token';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';

/** An answer of `admin.identify` is believed for as long, so that a revocation holds even when its broadcast is lost. */
const identityTtlMs = 1_000;
const maxIdentities = 10_000;

/** What admin is asked, and for which request. */
interface Question {
  question: Identify;
  asker: Caller;
}

/** Proves who is asking, with at most one question to admin. */
@Injectable()
export class CallerGuard implements OnModuleInit {
  private readonly identities = new LRUCache<string, Identity, Question>({
    max: maxIdentities,
    ttl: identityTtlMs,
    // Whoever waits for an answer while the cache is cleared still gets it; it is only not kept.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => this.bus.call(admin.identity.identify, context.asker, context.question),
  });

  constructor(private readonly bus: Bus) {}

  onModuleInit(): void {
    this.bus.listen(credentialsChanged, () => this.identities.clear());
  }

  /** Throws Unauthorized, Forbidden, or InvalidPayload for a missing context header. */
  async identify(request: FastifyRequest, access: Access): Promise<Caller> {
    const base = { requestId: request.id, traceparent: traceparent(request), address: request.ip };
    const asker: Caller = { ...base, credential: 'none' };
    if (access.actor === 'anyone') return asker;

    const question = readCredential(request, access);
    const key = JSON.stringify(question);
    const identity = this.identities.get(key) ?? (await this.identities.fetch(key, { context: { question, asker } }));
    if (!identity) throw new ApiError('Unauthorized', 'The token in the Authorization header is unknown.');
    const caller = { ...base, ...identity.caller };
    authorize(access, caller);
    return caller;
  }
}

/** What the request shows of its sender; only the headers that this operation looks at. */
function readCredential(request: FastifyRequest, { actor }: Access): Identify {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (!token) throw new ApiError('Unauthorized', 'The Authorization header must be "Bearer <token>".');
  const kind = tokenKind(token);
  if (!kind) throw new ApiError('Unauthorized', 'The token in the Authorization header is malformed or was cut.');

  const question: Identify = { tokenHash: hashToken(token), kind };
  if (actor === 'workspace' || actor === 'bot') question.workspaceId = header(request, 'x-workspace-id');
  if (actor === 'bot') {
    question.botId = header(request, 'x-bot-id');
    question.integrationAlias = header(request, 'x-integration-alias') ?? header(request, 'x-integration-name');
    question.integrationId = header(request, 'x-integration-id');
    question.userId = header(request, 'x-user-id');
  }
  // The keys of bots and integrations bring their workspace along.
  if (actor === 'workspace' && kind !== 'bak' && kind !== 'iak' && !question.workspaceId)
    throw missing('x-workspace-id', 'the id of a workspace');
  if (actor === 'bot' && !question.botId) throw missing('x-bot-id', 'the id of a bot');
  return question;
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function missing(name: string, right: string): ApiError {
  return new ApiError('InvalidPayload', `The header ${name} is missing: it must be ${right}.`);
}

/** The W3C trace context of the request, or a new one. */
function traceparent(request: FastifyRequest): string {
  const given = header(request, 'traceparent');
  if (given && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(given)) return given;
  // Two random UUIDs: they cost a tenth of as many random bytes.
  const [trace, span] = [randomUUID(), randomUUID()].map((uuid) => uuid.replaceAll('-', ''));
  return `00-${trace}-${span!.slice(0, 16)}-01`;
}
