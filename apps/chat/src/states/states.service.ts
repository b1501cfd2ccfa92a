import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import {
  type GetOrSetState,
  maxStateBytes,
  type PatchState,
  type ReadStateReply,
  type SetState,
  type SetStateExpiry,
  type StateName,
  type StateReply,
} from '@parley/contracts/chat/states';
import { ApiError, notFound, unavailable } from '@parley/contracts/errors';
import { newId } from '@parley/persistence/ids';
import { SchemaChecker } from '@parley/json-schema/schema-checker';
import { tenantOf } from '@parley/transport/envelope';
import { BotDefinitionsCache } from '../bots/bot-definitions.cache';
import { aliasOf } from '../queries/scope';
import { declaredState, type DeclaredState, undeclared } from './declared-state';
import { ExpiredStatesService } from './expired-states.service';
import { KeyedMutex } from '@parley/background/keyed-mutex';
import { type StateEntity, toState } from './state.entity';
import { type FoundState, type StateKey, StatesRepository } from './states.repository';

interface ResolvedState {
  path: StateName;
  key: StateKey;
  declared: DeclaredState;
}

/** Retries of a change after conflicts with concurrent changes, and the maximum wait for changes in this process. */
const maxAttempts = 20;
const waitMs = 5_000;

@Injectable()
export class StatesService implements BeforeApplicationShutdown {
  private readonly checker = new SchemaChecker();
  private readonly mutex = new KeyedMutex();

  constructor(
    private readonly states: StatesRepository,
    private readonly expired: ExpiredStatesService,
    private readonly botDefinitions: BotDefinitionsCache,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    await this.checker.close();
  }

  async get(caller: BotCaller, path: StateName): Promise<ReadStateReply> {
    const { key } = await this.resolve(caller, path);
    const row = ownedIn(await this.states.findStateAndRenewExpiry(key), path);
    if (!row) throw nothingStored(path);
    return { ...reply(caller, row), meta: { cached: false } };
  }

  async set(caller: BotCaller, input: SetState): Promise<StateReply> {
    const state = await this.resolve(caller, input);
    const { payload, expiry } = input;
    if (payload === null) return this.delete(caller, state);
    await this.check(caller, state, payload);
    const row = await this.retryOnConflict(async () => {
      const change = { payload, expiryMs: expiry };
      const updated = await this.states.updateState(state.key, change);
      return updated ?? this.insertUnlessThere(state, payload, expiry);
    });
    return reply(caller, row);
  }

  async getOrSet(caller: BotCaller, input: GetOrSetState): Promise<ReadStateReply> {
    const state = await this.resolve(caller, input);
    const { payload, expiry } = input;
    const row = await this.retryOnConflict(async () => {
      const stored = ownedIn(await this.states.findStateAndRenewExpiry(state.key), input);
      if (stored) return stored;
      await this.check(caller, state, payload);
      return this.insertUnlessThere(state, payload, expiry);
    });
    return { ...reply(caller, row), meta: { cached: false } };
  }

  /**
   * Optimistic concurrency: retries if the state has changed since it was read. A keyed mutex serializes changes within
   * the process, so only other processes can conflict. No database lock is held during schema validation.
   */
  async patch(caller: BotCaller, input: PatchState): Promise<StateReply> {
    const state = await this.resolve(caller, input);
    const { key } = state;
    const mutexKey = JSON.stringify([key.botId, key.type, key.ownerId, key.name]);
    const merge = async () => {
      const stored = ownedIn(await this.states.findState(key), input);
      const payload = mergedPayload(stored?.payload ?? {}, input.payload);
      await this.check(caller, state, payload);
      return stored
        ? this.states.updateState(key, { payload, expiryMs: input.expiry }, stored.payload)
        : this.insertUnlessThere(state, payload, input.expiry);
    };
    const row = await this.mutex
      .run(mutexKey, waitMs, () => this.retryOnConflict(merge))
      .catch((error: unknown) => {
        throw (error as Error).name === 'TimeoutError' ? tooMany() : error;
      });
    return reply(caller, row);
  }

  async setExpiry(caller: BotCaller, input: SetStateExpiry): Promise<StateReply> {
    const { key } = await this.resolve(caller, input);
    const row = await this.states.updateState(key, { expiryMs: input.expiry });
    if (row) return reply(caller, row);
    ownedIn(await this.states.findState(key), input);
    throw nothingStored(input);
  }

  /** Idempotent: deleting a state without a value succeeds. */
  private async delete(caller: BotCaller, { key, path }: ResolvedState): Promise<StateReply> {
    const deleted = await this.states.deleteState(key);
    if (deleted) return reply(caller, { ...deleted, payload: {} });
    const found = await this.states.findState(key);
    ownedIn(found, path);
    if (found.isExpired) await this.expired.deleteIfExpired(key);
    return reply(caller, neverStored(key));
  }

  /** Resolves the path for the caller. Throws ResourceNotFound if the state is not declared. */
  private async resolve(caller: BotCaller, { type, id, name }: StateName): Promise<ResolvedState> {
    const path = { type, id, name };
    const botId = caller.bot.id;
    if (type === 'bot' && id !== botId) throw notFound('bot', id);
    const declared = await this.botDefinitions.find(botId, (bot) => declaredState(bot, caller, path));
    if (!declared) throw undeclared(await this.botDefinitions.get(botId), caller, path);
    const { ownerId, name: stored } = declared;
    return { path, declared, key: { botId, alias: aliasOf(caller), type, ownerId, name: stored } };
  }

  /** Undefined if another request has stored the state, or if an expired one had to be removed first. */
  private async insertUnlessThere(
    { path, key, declared }: ResolvedState,
    payload: Record<string, unknown>,
    expiry: number | null | undefined,
  ): Promise<StateEntity | undefined> {
    const expiryMs = expiry === undefined ? declared.expiryMs : expiry;
    const inserted = await this.states.insertState(key, { payload, expiryMs });
    if (inserted) return inserted;
    const found = await this.states.findState(key);
    ownedIn(found, path);
    if (found.isExpired) await this.expired.deleteIfExpired(key);
    return undefined;
  }

  /** Retries with random backoff until an attempt has no conflict. */
  private async retryOnConflict(attempt: () => Promise<StateEntity | undefined>): Promise<StateEntity> {
    for (let number = 0; number < maxAttempts; number++) {
      const row = await attempt();
      if (row) return row;
      await sleep(Math.random() * number);
    }
    throw tooMany();
  }

  /** Throws InvalidPayload if the payload is too large, InvalidDataFormat if it does not match the schema, and a 503. */
  private async check(
    caller: BotCaller,
    { declared: { schema } }: ResolvedState,
    payload: Record<string, unknown>,
  ): Promise<void> {
    if (Buffer.byteLength(JSON.stringify(payload)) > maxStateBytes)
      throw new ApiError('InvalidPayload', `payload must be at most ${maxStateBytes} bytes of JSON after merging.`);
    const problem =
      schema && (await this.checker.firstProblem(tenantOf(caller), [{ schema, value: payload, path: 'payload' }]));
    if (problem) throw new ApiError('InvalidDataFormat', `${problem}.`);
  }
}

/** Live state, if there is one. Throws ResourceNotFound if its owner does not exist or is not visible to the caller. */
function ownedIn({ hasOwner, row }: FoundState, { type, id }: StateName): StateEntity | undefined {
  if (!hasOwner) throw notFound(type, id);
  return row;
}

function nothingStored({ type, id, name }: StateName): ApiError {
  return new ApiError('ResourceNotFound', `State "${name}" of the ${type} "${id}" not found: no value is stored.`);
}

function tooMany(): ApiError {
  return unavailable('Too many concurrent changes of this state; the request was not processed. Retry after 1 s.');
}

function reply(caller: BotCaller, row: StateEntity): StateReply {
  return { state: toState(caller, row) };
}

function neverStored({ botId, type, ownerId, name }: StateKey): StateEntity {
  const now = new Date();
  return {
    bot_id: botId,
    type,
    owner_id: ownerId,
    name,
    id: newId('state'),
    payload: {},
    expiry_ms: null,
    expires_at: null,
    created_at: now,
    updated_at: now,
  };
}

/** Shallow merge: `null` removes a key. Safe for keys such as `__proto__`. */
function mergedPayload(stored: Record<string, unknown>, change: Record<string, unknown>): Record<string, unknown> {
  const entries = new Map(Object.entries(stored));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) entries.delete(name);
    else entries.set(name, value);
  }
  return Object.fromEntries(entries);
}
