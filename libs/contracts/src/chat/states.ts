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
  @IsString()
  id!: string;

  @IsDateString()
  createdAt!: string;

  @IsDateString()
  updatedAt!: string;

  @IsString()
  botId!: string;

  /** Of a conversation's state. */
  @Optional()
  @IsString()
  conversationId?: string;

  /** Of a user's state. */
  @Optional()
  @IsString()
  userId?: string;

  /** A bot sees those of its integrations as `alias:name`. */
  @IsString()
  name!: string;

  @IsIn(stateTypes)
  type!: StateType;

  @JsonObject({ maxBytes: maxStateBytes })
  payload!: Record<string, unknown>;

  /** Milliseconds without a read or a write after which it is gone. Absent for one that stays. */
  @Optional()
  @IsInt()
  expiry?: number;

  /** When that is, if nobody reads or writes it until then. */
  @Optional()
  @IsDateString()
  expiresAt?: string;
}

export class StateName {
  @PathChoice(stateTypes)
  type!: StateType;

  /** Of the conversation, user, bot, integration or workflow whose state it is. */
  @PathParam()
  id!: string;

  /** Declared for this type by the bot, or by an integration: the bot says `alias:name` then. That of a workflow is free. */
  @PathParam({ maxLength: 200 })
  name!: string;
}

/** Milliseconds from 1 to 30 days. A fraction is rounded up. */
function IsExpiry(): PropertyDecorator {
  return (target, property) => [IsNumber(), Min(1), Max(maxExpiryMs)].forEach((decorate) => decorate(target, property));
}

class StateExpiryChange extends StateName {
  /** `null` lets it stay. What is absent stays as it is; a new state has the expiry of its definition. */
  @Nullable()
  @IsExpiry()
  expiry?: number | null;
}

export class SetState extends StateExpiryChange {
  /** `null` deletes the state. The answer has an empty payload then, whether or not there was one. */
  @OrNull()
  @JsonObject({ maxBytes: maxStateBytes })
  payload!: Record<string, unknown> | null;
}

export class GetOrSetState extends StateExpiryChange {
  @JsonObject({ maxBytes: maxStateBytes })
  payload!: Record<string, unknown>;
}

export class PatchState extends StateExpiryChange {
  /** What is left out stays; `null` removes what has the name. */
  @JsonObject({ maxBytes: maxStateBytes })
  payload!: Record<string, unknown>;
}

export class SetStateExpiry extends StateName {
  /** `null` lets it stay. */
  @OrNull()
  @IsExpiry()
  expiry!: number | null;
}

export class StateReply {
  @Nested(State)
  state!: State;
}

class StateMeta {
  /** Whether the answer could be older than the request: never. */
  @IsBoolean()
  cached!: boolean;
}

export class ReadStateReply extends StateReply {
  @Nested(StateMeta)
  meta!: StateMeta;
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
    summary: 'Stores a state in place of the one that is there, or deletes it.',
    access: bot.writeAlsoByIntegration,
    input: SetState,
    output: StateReply,
  }),
  getOrSet: operation({
    subject: 'chat.states.getOrSet',
    route: 'POST /v1/chat/states/{type}/{id}/{name}/get-or-set',
    summary: 'Gets a state, or stores this one when there is none. As many as ask at once get the same one.',
    access: bot.writeAlsoByIntegration,
    input: GetOrSetState,
    output: ReadStateReply,
  }),
  patch: operation({
    subject: 'chat.states.patch',
    route: 'PATCH /v1/chat/states/{type}/{id}/{name}',
    summary:
      'Merges the payload, name by name, into that of a state, which is made when there is none. Of changes at once none is lost.',
    access: bot.writeAlsoByIntegration,
    input: PatchState,
    output: StateReply,
  }),
  setExpiry: operation({
    subject: 'chat.states.setExpiry',
    route: 'POST /v1/chat/states/{type}/{id}/{name}/expiry',
    summary: 'Sets after how long without a read or a write a state is gone.',
    access: bot.writeAlsoByIntegration,
    input: SetStateExpiry,
    output: StateReply,
  }),
};
