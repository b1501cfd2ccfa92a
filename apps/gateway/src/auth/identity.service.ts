import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { type Access, authorize } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { credentialsChanged, type Identify, type Identity } from '@parley/contracts/admin/identity';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { actionDepthHeader } from '@parley/contracts/runtime/actions';
import { hashToken, tokenKind } from '@parley/secrets/token';
import type { TracedRequest } from '@parley/service/request-trace';
import type { FastifyRequest } from 'fastify';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { boundedKey } from '../rate-limits/rate.limiter';

/** Cache TTL of `admin.identify` answers: a revocation takes effect within this time even when its broadcast is lost. */
const identityTtlMs = 1_000;
const maxIdentities = 10_000;
/**
 * Hedged request: without an answer by then, identify is called again. All requests of the token wait for the first
 * call, and the process that received it may have died.
 */
const hedgeAfterMs = 500;

interface IdentifyRequest {
  input: Identify;
  caller: Caller;
}

/** Authentication by credentials. Concurrent requests of one token share one call to admin. */
@Injectable()
export class IdentityService implements OnModuleInit {
  private readonly identities = new LRUCache<string, Identity, IdentifyRequest>({
    ...atMostEntries(maxIdentities),
    ttl: identityTtlMs,
    // Clearing the cache does not abort pending fetches: their callers get the answer, which is not cached.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => this.callAdmin(context),
  });

  constructor(private readonly client: ParleyClient) {}

  onModuleInit(): void {
    this.client.listen(credentialsChanged, () => this.identities.clear());
  }

  /** Throws Unauthorized, Forbidden, or InvalidPayload for a missing context header. */
  async identify(request: TracedRequest, access: Access): Promise<Caller> {
    const { id: requestId, traceparent, ip: address } = request;
    const actionDepth = actionDepthOf(request);
    const anonymous: Caller = { requestId, traceparent, address, actionDepth, credential: 'none' };
    if (access.actor === 'anyone') return anonymous;
    if (access.actor === 'chat-user' || access.actor === 'chat-visitor') return withUserKey(request, anonymous, access);

    const key = cacheKeyOf(request, access);
    const identity =
      this.identities.get(key) ??
      (await this.identities.fetch(key, { context: { input: readCredential(request, access), caller: anonymous } }));
    if (!identity) throw new ApiError('Unauthorized', 'The token in the Authorization header is not valid.');
    const caller = { requestId, traceparent, address, actionDepth, ...identity.caller };
    if (access.actor === 'workspace' && caller.credential === 'pat' && !caller.workspace)
      throw missing('x-workspace-id', 'the id of a workspace');
    authorize(access, caller);
    return caller;
  }

  private async callAdmin({ caller, input }: IdentifyRequest): Promise<Identity> {
    const call = () => this.client.call(admin.identity.identify, caller, input);
    const first = call();
    const stopTimer = new AbortController();
    const late = sleep(hedgeAfterMs, undefined, { signal: stopTimer.signal }).catch(() => undefined);
    const answer = await Promise.race([first, late]).finally(() => stopTimer.abort());
    return answer ?? Promise.race([first, call()]);
  }
}

/** Headers that `readCredential` reads: its own type admits no other, which would be missing in the cache key. */
const credentialHeaders = [
  'authorization',
  'x-workspace-id',
  'x-bot-id',
  'x-integration-alias',
  'x-integration-name',
  'x-integration-id',
  'x-user-id',
] as const;
type CredentialHeader = (typeof credentialHeaders)[number];

/**
 * Cache key: all that `readCredential` reads. The token is in it as it came, because its hash takes longer than the look-up.
 * Headers contain no line breaks, so different requests have different keys.
 */
function cacheKeyOf(request: FastifyRequest, { actor, credentials }: Access): string {
  let key = `${actor}\n${actor === 'operator' && credentials.includes('pat')}`;
  for (const name of credentialHeaders) key += `\n${header(request, name) ?? ''}`;
  return boundedKey(key);
}

/** Caller with the user key from the header, which only the chat service can verify. */
function withUserKey(request: FastifyRequest, anonymous: Caller, { actor }: Access): Caller {
  const userKey = header(request, 'x-user-key');
  if (userKey) return { ...anonymous, credential: 'user', userKey };
  if (actor === 'chat-visitor') return anonymous;
  throw new ApiError('Unauthorized', 'The header x-user-key is missing: it must be the key of a user of this bot.');
}

export function bearerToken({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** Reads the token and the context headers that the operation uses, or that must match the bot of the key. */
function readCredential(request: FastifyRequest, { actor, credentials }: Access): Identify {
  const given = (name: CredentialHeader) => header(request, name);
  const token = bearerToken({ authorization: given('authorization') });
  if (!token) throw new ApiError('Unauthorized', 'The Authorization header must be "Bearer <token>".');
  const kind = tokenKind(token);
  if (!kind) throw new ApiError('Unauthorized', 'The token in the Authorization header is malformed or incomplete.');

  const input: Identify = { tokenHash: hashToken(token), kind };
  const isKey = kind === 'bak' || kind === 'iak';
  if (actor === 'workspace' || actor === 'bot' || isKey) input.workspaceId = given('x-workspace-id');
  if (actor === 'workspace' && kind === 'pat' && !input.workspaceId) input.isWorkspaceImplied = true;
  if (actor === 'operator' && kind === 'pat' && credentials.includes(kind)) input.isForOperators = true;
  if (actor === 'bot' || kind === 'bak') input.botId = given('x-bot-id');
  if (actor === 'bot') {
    input.integrationAlias = given('x-integration-alias') ?? given('x-integration-name');
    input.integrationId = given('x-integration-id');
    input.userId = given('x-user-id');
  }
  if (actor === 'bot' && !input.botId) throw missing('x-bot-id', 'the id of a bot');
  return input;
}

export function header(request: Pick<FastifyRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Passed on by code, and by servers of bots that wish to. */
function actionDepthOf(request: FastifyRequest): number | undefined {
  const text = header(request, actionDepthHeader);
  if (text === undefined) return undefined;
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new ApiError('InvalidPayload', `The header ${actionDepthHeader} must be an integer from 0 to 999.`);
}

function missing(name: string, right: string): ApiError {
  return new ApiError('InvalidPayload', `The header ${name} is missing: it must be ${right}.`);
}
