import { IsBoolean, IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { ListOf, Nullable, Optional } from '../fields';
import { broadcast, channel, operation } from '../operation';

/** Something that listeners of a conversation hear. */
export class Signal {
  /** Dense within the conversation: who has 7 and gets 9 has missed 8. */
  @IsInt()
  number!: number;

  /** The JSON text that listeners get, `{"type":…,"data":…}`; null when it only ends streams. */
  @Nullable()
  @IsString()
  frame!: string | null;

  /** The streams of this user in this conversation end when all that came before it is delivered. */
  @Optional()
  @IsString()
  closes?: string;
}

/** Keyed by the platform's id of the conversation. Published right after the commit, in the order of the numbers. */
export const signalChannel = channel({ subject: 'chat.signals', data: Signal });

export class SignalsMissing {
  /** Absent: the signals of any bot. */
  @Optional()
  @IsString()
  botId?: string;
}

/** Signals may not have been told, or nobody may listen any more: whoever has streams asks what was missed. */
export const signalsMissing = broadcast({ subject: 'chat.signalsMissing', data: SignalsMissing });

export class OpenStream {
  @IsString()
  webhookId!: string;

  /** In any form: the platform's id or a foreign one. */
  @IsString()
  conversationId!: string;
}

/** What a stream is about, in the platform's ids. */
export class Listener {
  @IsString()
  botId!: string;

  @IsString()
  conversationId!: string;

  @IsString()
  userId!: string;
}

export class CatchUp extends Listener {
  /** The last number that was heard. Absent: the last second is asked for. */
  @Optional()
  @IsInt()
  after?: number;
}

export class MissedSignals {
  /** Whether the user may listen to the conversation, now. The signals are told either way. */
  @IsBoolean()
  isParticipant!: boolean;

  /** The newest number of the conversation, 0 before the first; with `hasMore` that of the last signal here. */
  @IsInt()
  last!: number;

  /** Not all that came after the number fit: ask again after `last`. */
  @IsBoolean()
  hasMore!: boolean;

  /** In the order of their numbers. Those that are kept no longer are missing. Of the last second, the newest that fit. */
  @ListOf(Signal)
  signals!: Signal[];
}

export const signals = {
  open: operation({
    subject: 'chat.signals.open',
    summary: 'Says which conversation a user key may listen to, or why it may not.',
    access: service,
    input: OpenStream,
    output: Listener,
  }),
  catchUp: operation({
    subject: 'chat.signals.catchUp',
    summary: 'Gives the signals of a conversation after a number, or those of the last second. Needs no user key.',
    access: service,
    input: CatchUp,
    output: MissedSignals,
  }),
};
