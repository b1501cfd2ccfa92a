import { IsBoolean, IsDateString, IsIn, IsInt, IsNumber, IsString, Max, Min } from 'class-validator';
import { bot } from '../access';
import { JsonObject, Nested, Nullable, Optional, OrNull } from '../fields';
import { operation } from '../operation';
import { PathChoice, PathParam } from '../query-fields';

export const stateTypes = ['conversation', 'user', 'bot', 'integration', 'workflow'] as const;
export type StateType = (typeof stateTypes)[number];

export const maxStateBytes = 128 * 1024;
const maxExpiryMs = 2_592_000_000;

export class State {
  @IsString() id!: string;
  @IsDateString() createdAt!: string;
  @IsDateString() updatedAt!: string;
  @IsString() botId!: string;

  /** Only for the state of a conversation. */
  @Optional() @IsString() conversationId?: string;

  /** Only for the state of a user. */
  @Optional() @IsString() userId?: string;

  /** Name. The bot sees states of its integrations as `alias:name`. */
  @IsString() name!: string;

  @IsIn(stateTypes) type!: StateType;
  @JsonObject({ maxBytes: maxStateBytes }) payload!: Record<string, unknown>;

  /** TTL in milliseconds since the last read or write. Absent for a state that does not expire. */
  @Optional() @IsInt() expiry?: number;

  /** Time of expiry, which each read or write postpones. */
  @Optional() @IsDateString() expiresAt?: string;
}

export class StateName {
  @PathChoice(stateTypes) type!: StateType;

  /** Id of the conversation, user, bot, integration or workflow that owns the state. */
  @PathParam() id!: string;

  /**
   * State that the bot, or one of its integrations, declares for this type; the bot writes the latter as `alias:name`.
   * Names of workflow states need no declaration.
   */
  @PathParam({ maxLength: 200 }) name!: string;
}

/** TTL in milliseconds, from 1 to 30 days. A fraction is rounded up. */
function IsExpiry(): PropertyDecorator {
  return (target, property) => [IsNumber(), Min(1), Max(maxExpiryMs)].forEach((decorate) => decorate(target, property));
}

class StateExpiryChange extends StateName {
  /**
   * TTL in milliseconds; `null` for no expiry. When absent, it stays unchanged; a new state gets the one of its
   * definition.
   */
  @Nullable() @IsExpiry() expiry?: number | null;
}

export class SetState extends StateExpiryChange {
  /** `null` deletes the state. The answer then has an empty payload, whether or not the state existed. */
  @OrNull() @JsonObject({ maxBytes: maxStateBytes }) payload!: Record<string, unknown> | null;
}

export class GetOrSetState extends StateExpiryChange {
  @JsonObject({ maxBytes: maxStateBytes }) payload!: Record<string, unknown>;
}

export class PatchState extends StateExpiryChange {
  /** Merge patch: absent keys stay unchanged, `null` removes a key. */
  @JsonObject({ maxBytes: maxStateBytes }) payload!: Record<string, unknown>;
}

export class SetStateExpiry extends StateName {
  /** TTL in milliseconds; `null` for no expiry. */
  @OrNull() @IsExpiry() expiry!: number | null;
}

export class StateReply {
  @Nested(State) state!: State;
}

class StateMeta {
  /** Always false: answers are never cached. */
  @IsBoolean() cached!: boolean;
}

export class ReadStateReply extends StateReply {
  @Nested(StateMeta) meta!: StateMeta;
}

export const states = {
  get: operation({
    subject: 'chat.states.get',
    route: 'GET /v1/chat/states/{type}/{id}/{name}',
    summary: 'Gets a state.',
    access: bot.readAlsoByIntegration,
    input: StateName,
    output: ReadStateReply,
  }),
  set: operation({
    subject: 'chat.states.set',
    route: 'POST /v1/chat/states/{type}/{id}/{name}',
    summary: 'Creates or replaces a state, or deletes it when the payload is null.',
    access: bot.writeAlsoByIntegration,
    input: SetState,
    output: StateReply,
  }),
  getOrSet: operation({
    subject: 'chat.states.getOrSet',
    route: 'POST /v1/chat/states/{type}/{id}/{name}/get-or-set',
    summary: 'Gets a state, or creates it with this payload. Concurrent requests get the same state.',
    access: bot.writeAlsoByIntegration,
    input: GetOrSetState,
    output: ReadStateReply,
  }),
  patch: operation({
    subject: 'chat.states.patch',
    route: 'PATCH /v1/chat/states/{type}/{id}/{name}',
    summary:
      'Merges the top-level keys of the payload into a state, which is created when it does not exist. Concurrent changes are all applied.',
    access: bot.writeAlsoByIntegration,
    input: PatchState,
    output: StateReply,
  }),
  setExpiry: operation({
    subject: 'chat.states.setExpiry',
    route: 'POST /v1/chat/states/{type}/{id}/{name}/expiry',
    summary: 'Sets the TTL of a state: how long it lives without a read or a write.',
    access: bot.writeAlsoByIntegration,
    input: SetStateExpiry,
    output: StateReply,
  }),
};
