import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import {
  type CatchUp,
  type MissedSignals,
  type Signal as ToldSignal,
  signalChannel,
  signalsMissing,
} from '@parley/contracts/chat/signals';
import { notFound } from '@parley/contracts/errors';
import type { Transaction } from '@parley/database/database';
import { frameOf, frameOfMessage, type Signal } from './signal.entity';
import { SignalsRepository, type StoredSignal } from './signals.repository';

/** Tells the listeners of conversations what happens in them. */
@Injectable()
export class SignalsService implements OnApplicationBootstrap {
  constructor(
    private readonly signals: SignalsRepository,
    private readonly bus: Bus,
  ) {}

  /** What this process, or one that it replaces, has committed while it had no bus is told by nobody else. */
  onApplicationBootstrap(): void {
    const tell = () => this.bus.broadcast(signalsMissing, {});
    this.bus.onReconnected(tell);
    tell();
  }

  /**
   * Lets nobody else write in the conversation until the commit. A transaction that adds signals calls this before it
   * changes anything else in the conversation: otherwise it may wait in a circle with who writes a message. False when
   * the conversation is gone.
   */
  hold(tx: Transaction, botId: string, conversationId: string): Promise<boolean> {
    return this.signals.hold(tx, botId, conversationId);
  }

  /**
   * Numbers and stores the signals in this transaction. They are published in their order right after its commit, before
   * the operation answers. In a conversation that is not of the chat this does nothing.
   */
  async add(tx: Transaction, botId: string, conversationId: string, signals: Signal[]): Promise<void> {
    const numbers = await this.signals.add(tx, botId, conversationId, signals);
    tx.afterCommit(() => {
      numbers.forEach((number, place) => {
        const signal = signals[place]!;
        this.publish(conversationId, { number, frame: frameOf(signal), closes: signal.closes });
      });
    });
  }

  /**
   * Tells in all conversations of a user that it takes part no more, and ends its streams, right after the commit. Called
   * before the user is taken out of them.
   */
  async addLastOf(tx: Transaction, botId: string, userId: string): Promise<void> {
    const last = await this.signals.addLastOf(tx, botId, userId);
    tx.afterCommit(() => {
      for (const { conversationId, number, ...signal } of last)
        this.publish(conversationId, { number, frame: frameOf(signal), closes: signal.closes });
    });
  }

  /** For what is committed and has its number. Lost when nobody hears it; `catchUp` has it all the same. */
  publish(conversationId: string, signal: ToldSignal): void {
    this.bus.publish(signalChannel, conversationId, signal);
  }

  /** Has the streams of the bot ask whether they may go on. */
  recheck(botId: string): void {
    this.bus.broadcast(signalsMissing, { botId });
  }

  async catchUp({ botId, conversationId, userId, after }: CatchUp): Promise<MissedSignals> {
    const recent = await this.signals.find(botId, conversationId, userId, after);
    if (!recent) throw notFound('conversation', conversationId);
    return { ...recent, signals: recent.signals.map(toToldSignal) };
  }
}

function toToldSignal({ number, message, ...signal }: StoredSignal): ToldSignal {
  return { number, frame: message ? frameOfMessage(signal.type, message) : frameOf(signal), closes: signal.closes };
}
