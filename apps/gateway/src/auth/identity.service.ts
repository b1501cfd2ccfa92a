import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { type Access, authorize } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { credentialsChanged, type Identify, type Identity } from '@parley/contracts/admin/identity';
import type { Caller } from '@parley/contracts/caller';
import { users } from '@parley/contracts/chat/users';
import { ApiError } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { FieldProblem, fieldSources, type RawQuery } from '@parley/contracts/query-fields';
import { actionDepthHeader } from '@parley/contracts/runtime/actions';
import { hashToken, tokenKind } from '@parley/secrets/token';
import type { TracedRequest } from '@parley/service/request-trace';
import type { FastifyRequest } from 'fastify';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { withoutEmpty } from '../bodies/input-reader';
import { boundedKey } from '../rate-limits/rate.limiter';

/** Cache TTL of identities: a revocation takes effect within this time even when its broadcast is lost. */
const identityTtlMs = 1_000;
const maxIdentities = 10_000;
/**
 * Hedged request: without an answer by then, the call is repeated. All requests of the token wait for the first
 * call, and the process that received it may have died.
 */
const hedgeAfterMs = 500;

type Authenticated = Pick<Operation, 'access' | 'input' | 'otherBotField' | 'isWorkspaceLabelled'>;

interface IdentifyRequest {
  input: Identify;
  /** From the header `x-user-id`. */
  userId?: string;
  caller: Caller;
}

/**
 * Authentication by credentials: all facts that decide the access of a request, so that services need not ask for them.
 * Concurrent requests of one token share one call to admin.
 */
@Injectable()
export class IdentityService implements OnModuleInit {
  private readonly identities = new LRUCache<string, Identity, IdentifyRequest>({
    ...atMostEntries(maxIdentities),
    ttl: identityTtlMs,
    // Clearing the cache does not abort pending fetches: their callers get the answer, which is not cached.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => this.resolve(context),
  });

  constructor(private readonly client: ParleyClient) {}

  onModuleInit(): void {
    this.client.listen(credentialsChanged, () => this.identities.clear());
  }

  /** Throws Unauthorized, Forbidden, or InvalidPayload for a missing context header. */
  async identify(request: TracedRequest, operation: Authenticated): Promise<Caller> {
    const { access } = operation;
    const { id: requestId, traceparent, ip: address } = request;
    const actionDepth = actionDepthOf(request);
    const anonymous: Caller = { requestId, traceparent, address, actionDepth, credential: 'none' };
    if (access.actor === 'anyone') return anonymous;
    if (access.actor === 'chat-user' || access.actor === 'chat-visitor') return withUserKey(request, anonymous, access);

    const otherBotId = otherBotIdOf(request, operation);
    const key = cacheKeyOf(request, operation, otherBotId);
    const identity =
      this.identities.get(key) ??
      (await this.identities.fetch(key, {
        context: {
          input: readCredential(request, operation, otherBotId),
          userId: access.actor === 'bot' ? header(request, 'x-user-id') : undefined,
          caller: anonymous,
        },
      }));
    if (!identity) throw new ApiError('Unauthorized', 'The token in the Authorization header is not valid.');
    const caller = { requestId, traceparent, address, actionDepth, ...identity.caller };
    if (access.actor === 'workspace' && caller.credential === 'pat' && !caller.workspace)
      throw missing('x-workspace-id', 'the id of a workspace');
    authorize(access, caller);
    return caller;
  }

  private async resolve({ caller, input, userId }: IdentifyRequest): Promise<Identity> {
    const identity = await hedged(() => this.client.call(admin.identity.identify, caller, input));
    // An operator has no bot: `authorize` refuses it.
    if (userId === undefined || identity.caller.credential === 'operator') return identity;
    const botId = identity.caller.bot?.id;
    const isKnown =
      botId !== undefined && (await hedged(() => this.client.call(users.exists, caller, { botId, userId }))).exists;
    if (!isKnown) throw new ApiError('Forbidden', `x-user-id "${userId}" is not a user of this bot.`);
    return { caller: { ...identity.caller, user: { id: userId } } };
  }
}

async function hedged<T>(call: () => Promise<T>): Promise<T> {
  const first = call();
  const stopTimer = new AbortController();
  const late = sleep(hedgeAfterMs, undefined, { signal: stopTimer.signal }).catch(() => undefined);
  const answer = await Promise.race([first, late]).finally(() => stopTimer.abort());
  return answer ?? Promise.race([first, call()]);
}

/** Headers that decide the identity: the type admits no other, which would be missing in the cache key. */
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
 * Cache key: all that decides the identity. The token is in it as it came, because its hash takes longer than the look-up.
 * Headers contain no line breaks and the other bot is last, so different requests have different keys.
 */
function cacheKeyOf(
  request: FastifyRequest,
  { access: { actor, credentials, isBotImplied }, isWorkspaceLabelled }: Authenticated,
  otherBotId: string | undefined,
): string {
  let key = `${actor}\n${isBotImplied === true}\n${actor === 'operator' && credentials.includes('pat')}\n${isWorkspaceLabelled === true}`;
  for (const name of credentialHeaders) key += `\n${header(request, name) ?? ''}`;
  return boundedKey(otherBotId === undefined ? key : `${key}\n${otherBotId}`);
}

/** Undefined also for an invalid value, which ContractPipe reports. */
function otherBotIdOf({ query, headers }: FastifyRequest, { input, otherBotField }: Authenticated): string | undefined {
  if (otherBotField === undefined) return undefined;
  const source = fieldSources(input).find(({ name }) => name === otherBotField);
  try {
    return source?.read(source.in === 'query' ? withoutEmpty(query as RawQuery) : headers) as string | undefined;
  } catch (error) {
    if (error instanceof FieldProblem) return undefined;
    throw error;
  }
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
function readCredential(
  request: FastifyRequest,
  { access: { actor, credentials, isBotImplied }, isWorkspaceLabelled }: Authenticated,
  otherBotId: string | undefined,
): Identify {
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
  }
  if (isWorkspaceLabelled) input.isWorkspaceLabelled = true;
  if (otherBotId !== undefined) input.otherBotId = otherBotId;
  const isImplied = isBotImplied && kind === 'bak';
  if (actor === 'bot' && !input.botId && !isImplied) throw missing('x-bot-id', 'the id of a bot');
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
