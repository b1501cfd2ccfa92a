import { Controller, type DynamicModule, Module } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import {
  type CatchUp,
  type Listener,
  type MissedSignals,
  type OpenStream,
  type Signal,
  signalChannel,
  signals,
  type SignalsMissing,
  signalsMissing,
} from '@parley/contracts/chat/signals';
import { ApiError } from '@parley/contracts/errors';
import { ProcessConfig } from '@parley/service/config';
import type { Platform } from '@parley/service/platform';
import { TransportModule } from '@parley/service/transport.module';

const signalsAtOnce = 200;

interface Kept extends Signal {
  at: number;
}

/**
 * Fake chat service: conversations with numbered signals, which tests record, lose and publish as they like. A user's
 * key is their id, and everybody is a participant of each conversation until removed.
 */
export class StandInChat {
  readonly foreignIds = new Map<string, string>();
  /** Hooks before an operation is answered: throw to make it fail, wait to delay it. */
  before: { open?: () => Promise<void>; catchUp?: () => Promise<void> } = {};
  /** Hook after the missed signals are read, before the answer is sent. */
  beforeAnswer?: () => Promise<void>;
  /** Number of requests for missed signals. */
  questions = 0;
  private readonly kept = new Map<string, Kept[]>();
  private readonly removed = new Set<string>();

  constructor(private readonly buses: ParleyClient[] = []) {}

  join(client: ParleyClient): void {
    this.buses.push(client);
  }

  /** Stores a signal without publishing it. */
  record(conversationId: string, text: string | null, closes?: string): Signal {
    const list = this.keptOf(conversationId);
    const number = list.length + 1;
    const frame = text === null ? null : JSON.stringify({ type: 'message_created', data: { text } });
    const signal: Signal = { number, frame, ...(closes === undefined ? {} : { closes }) };
    list.push({ ...signal, at: Date.now() });
    return signal;
  }

  publish(conversationId: string, ...list: Signal[]): void {
    for (const signal of list) this.buses[0]!.publishTo(signalChannel, conversationId, signal);
  }

  say(conversationId: string, ...texts: string[]): void {
    for (const text of texts) this.publish(conversationId, this.record(conversationId, text));
  }

  /** Removes a user from a conversation, with a signal that closes their streams. The test may publish it. */
  remove(conversationId: string, userId: string): Signal {
    this.removed.add(`${conversationId} ${userId}`);
    return this.record(conversationId, `${userId} left`, userId);
  }

  add(conversationId: string, userId: string): void {
    this.removed.delete(`${conversationId} ${userId}`);
  }

  tellMissing(missing: SignalsMissing): void {
    this.buses[0]!.broadcast(signalsMissing, missing);
  }

  /** Makes all signals up to now old. */
  age(conversationId: string): void {
    for (const signal of this.keptOf(conversationId)) signal.at -= 60_000;
  }

  async open({ userKey }: Caller, { webhookId, conversationId }: OpenStream): Promise<Listener> {
    await this.before.open?.();
    const botId = { hook: 'bot-1', 'hook-2': 'bot-2' }[webhookId];
    if (!botId) throw new ApiError('ResourceNotFound', 'There is no such webhook.');
    const [id] = [...this.foreignIds].find(([, foreignId]) => foreignId === conversationId) ?? [conversationId];
    return { botId, conversationId: id, userId: userKey! };
  }

  async catchUp({ conversationId, userId, after }: CatchUp): Promise<MissedSignals> {
    await this.before.catchUp?.();
    this.questions += 1;
    const list = this.keptOf(conversationId);
    const missed = list.filter(({ number, at }) => (after === undefined ? at > Date.now() - 1_000 : number > after));
    const given = after === undefined ? missed.slice(-signalsAtOnce) : missed.slice(0, signalsAtOnce);
    const last = given.at(-1)?.number ?? list.length;
    const answer = {
      isParticipant: !this.removed.has(`${conversationId} ${userId}`),
      last,
      hasMore: last < list.length,
      signals: given.map(({ number, frame, closes }) => ({ number, frame, closes })),
    };
    await this.beforeAnswer?.();
    return answer;
  }

  private keptOf(conversationId: string): Kept[] {
    const list = this.kept.get(conversationId) ?? [];
    this.kept.set(conversationId, list);
    return list;
  }
}

@Controller()
class SignalsController {
  constructor(private readonly chat: StandInChat) {}

  @Handles(signals.open)
  open(caller: Caller, input: OpenStream): Promise<Listener> {
    return this.chat.open(caller, input);
  }

  @Handles(signals.catchUp)
  catchUp(_caller: Caller, input: CatchUp): Promise<MissedSignals> {
    return this.chat.catchUp(input);
  }
}

@Module({})
export class StandInChatModule {
  static register(chat: StandInChat, platform: Platform): DynamicModule {
    chat.join(new ParleyClient(platform.driver));
    return {
      module: StandInChatModule,
      imports: [TransportModule.register({ name: 'chat', contract: signals }, new ProcessConfig(), platform)],
      controllers: [SignalsController],
      providers: [{ provide: StandInChat, useValue: chat }],
    };
  }
}
