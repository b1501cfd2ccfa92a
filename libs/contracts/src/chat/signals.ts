import { IsBoolean, IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { ListOf, Nullable, Optional } from '../fields';
import { broadcast, channel, operation } from '../operation';

export class Signal {
  /** Sequence number without gaps within the conversation: a listener that gets 9 after 7 has missed 8. */
  @IsInt() number!: number;

  /** JSON text sent to listeners, `{"type":…,"data":…}`; null for a signal that only closes streams. */
  @Nullable() @IsString() frame!: string | null;

  /** Id of the user whose streams of this conversation close after this signal. */
  @Optional() @IsString() closes?: string;
}

/** Keyed by the platform's id of the conversation. Published right after the commit, in the order of the numbers. */
export const signalChannel = channel({ subject: 'chat.signals', data: Signal });

export class SignalsMissing {
  /** When absent, signals of any bot may be missing. */
  @Optional() @IsString() botId?: string;
}

/** Signals may have been lost, or users may have lost access: every process with open streams catches up on them. */
export const signalsMissing = broadcast({ subject: 'chat.signalsMissing', data: SignalsMissing });

export class OpenStream {
  @IsString() webhookId!: string;

  /** Id of the platform or foreign id. */
  @IsString() conversationId!: string;
}

/** Subject of an event stream, in the platform's ids. */
export class Listener {
  @IsString() botId!: string;
  @IsString() conversationId!: string;
  @IsString() userId!: string;
}

export class CatchUp extends Listener {
  /** Number of the last received signal. When absent, the signals of the last second are returned. */
  @Optional() @IsInt() after?: number;
}

export class MissedSignals {
  /** Whether the user currently participates in the conversation. Signals are returned in either case. */
  @IsBoolean() isParticipant!: boolean;

  /** Newest number of the conversation, 0 without any signal; with `hasMore`, the number of the last returned signal. */
  @IsInt() last!: number;

  /** True when the result was truncated: continue after `last`. */
  @IsBoolean() hasMore!: boolean;

  /** In the order of their numbers. Expired signals are missing. Without `after`, the newest ones that fit. */
  @ListOf(Signal) signals!: Signal[];
}

export const signals = {
  open: operation({
    subject: 'chat.signals.open',
    summary: 'Authorizes an event stream: resolves the conversation and the user that a user key may listen to.',
    access: service,
    input: OpenStream,
    output: Listener,
  }),
  catchUp: operation({
    subject: 'chat.signals.catchUp',
    summary: 'Gets the signals of a conversation after a number, or those of the last second. Needs no user key.',
    access: service,
    input: CatchUp,
    output: MissedSignals,
  }),
};
