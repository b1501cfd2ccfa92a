import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import {
  type CatchUp,
  type MissedSignals,
  type Signal as PublishedSignal,
  signalChannel,
  signalsMissing,
} from '@parley/contracts/chat/signals';
import { notFound } from '@parley/contracts/errors';
import type { Transaction } from '@parley/persistence/database';
import { frameOf, frameOfMessage, type Signal } from './signal.entity';
import { SignalsRepository, type StoredSignal } from './signals.repository';

/** Publishes signals to the clients that listen to a conversation. */
@Injectable()
export class SignalsService implements OnApplicationBootstrap {
  constructor(
    private readonly signals: SignalsRepository,
    private readonly client: ParleyClient,
  ) {}

  /**
   * Signals that this process, or its predecessor, committed without a bus connection were never published. The broadcast on
   * start and on each reconnect makes gateways catch up.
   */
  onApplicationBootstrap(): void {
    const announce = () => this.client.broadcast(signalsMissing, {});
    this.client.onReconnected(announce);
    announce();
  }

  /**
   * Lock on the clock of the conversation until the commit. A transaction that adds signals takes it before any other
   * change of the conversation: otherwise it may deadlock with a message writer. False if the conversation was deleted.
   */
  lockClock(tx: Transaction, botId: string, conversationId: string): Promise<boolean> {
    return this.signals.lockConversationClock(tx, botId, conversationId);
  }

  /**
   * Numbers and stores signals in this transaction. They are published in order right after the commit, before the
   * reply. Does nothing outside the native chat.
   */
  async add(tx: Transaction, botId: string, conversationId: string, signals: Signal[]): Promise<void> {
    const numbers = await this.signals.insertSignals(tx, botId, conversationId, signals);
    tx.afterCommit(() => {
      numbers.forEach((number, index) => {
        const signal = signals[index]!;
        this.publish(conversationId, { number, frame: frameOf(signal), closes: signal.closes });
      });
    });
  }

  /**
   * Adds participant_removed in all conversations of a user, which ends the user's streams after the commit. Call it
   * before the participant rows are deleted.
   */
  async addParticipantRemoved(tx: Transaction, botId: string, userId: string): Promise<void> {
    const last = await this.signals.insertParticipantRemovedSignals(tx, botId, userId);
    tx.afterCommit(() => {
      for (const { conversationId, number, ...signal } of last)
        this.publish(conversationId, { number, frame: frameOf(signal), closes: signal.closes });
    });
  }

  /** At-most-once delivery of a committed signal. A client that misses it gets it from `catchUp`. */
  publish(conversationId: string, signal: PublishedSignal): void {
    this.client.publishTo(signalChannel, conversationId, signal);
  }

  /** Makes the streams of the bot check whether they may continue. */
  recheck(botId: string): void {
    this.client.broadcast(signalsMissing, { botId });
  }

  async catchUp({ botId, conversationId, userId, after }: CatchUp): Promise<MissedSignals> {
    const recent = await this.signals.findRecentSignals(botId, conversationId, userId, after);
    if (!recent) throw notFound('conversation', conversationId);
    return { ...recent, signals: recent.signals.map(toPublishedSignal) };
  }
}

function toPublishedSignal({ number, message, ...signal }: StoredSignal): PublishedSignal {
  return { number, frame: message ? frameOfMessage(signal.type, message) : frameOf(signal), closes: signal.closes };
}
