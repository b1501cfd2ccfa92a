import { Injectable } from '@nestjs/common';
import { yieldToEventLoop } from '@parley/background/yield-to-event-loop';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { messagesOutgoing } from '@parley/contracts/chat/outgoing-messages';
import { Outbox } from '@parley/events/outbox';
import { currentTraceparent } from '@parley/tracing/tracing';
import { frameOf, frameOfMessage, participantData } from '../signals/signal.entity';
import { SignalsService } from '../signals/signals.service';
import { isDelivered } from './message.entity';
import { type Draft, type NewDraft, NewMessagesRepository, type WrittenMessage } from './new-messages.repository';

interface Request {
  draft: NewDraft;
  sizeBytes: number;
  arrivedAt: number;
  resolve: (message: WrittenMessage) => void;
  reject: (error: unknown) => void;
}

/** Group commit, per process: while some statements commit, the next batch is collected. */
const statementsAtOnce = 3;
const maxMessagesTogether = 100;
/** Answers in one turn of the event loop: each takes some tenths of a millisecond. */
const answersTogether = 4;
/** Limit of a batch; a larger message is written alone. */
const maxBytesTogether = 2_000_000;
/** Fits the size limit of the outbox. */
const maxAnnouncedTogether = 200;
/** Queue limits: some seconds of work. Beyond them, writes are rejected. */
const maxWaitingMessages = 5_000;
const maxWaitingBytes = 64_000_000;
/** Load shedding: after this wait the caller is about to time out, so the message is rejected instead. */
const maxWaitMs = 8_000;

/**
 * Group commit: writes messages and publishes their signals. Messages that arrive while others of the same bot are
 * being written share the next statement, so that many at once cost little more than one. Each has its own outcome.
 */
@Injectable()
export class MessageWriterService {
  /** Queue per bot, in round-robin order: the first entry is next. */
  private readonly waiting = new Map<string, Request[]>();
  private waitingCount = 0;
  private waitingBytes = 0;
  private running = 0;

  constructor(
    private readonly database: Database,
    private readonly messages: NewMessagesRepository,
    private readonly signals: SignalsService,
    private readonly outbox: Outbox,
  ) {}

  /**
   * Resolves after the commit. Rejects with ReferenceNotFound or Forbidden if the message must not be written, and with
   * an overload error if the queue is full.
   */
  write(botId: string, draft: NewDraft): Promise<WrittenMessage> {
    const sizeBytes = Buffer.byteLength(JSON.stringify(draft));
    if (this.waitingCount >= maxWaitingMessages || this.waitingBytes + sizeBytes > maxWaitingBytes)
      return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      const requests = this.waiting.get(botId) ?? [];
      requests.push({ draft: traced(draft), sizeBytes, arrivedAt: Date.now(), resolve, reject });
      this.waiting.set(botId, requests);
      this.waitingCount += 1;
      this.waitingBytes += sizeBytes;
      if (this.running < statementsAtOnce) void this.run();
    });
  }

  /**
   * Writes in the caller's transaction: all drafts, or none by throwing as `write` does. Signals are published after
   * the commit.
   */
  async writeIn(tx: Transaction, botId: string, drafts: NewDraft[]): Promise<WrittenMessage[]> {
    const written = await this.messages.insertInTransaction(tx, botId, drafts.map(traced));
    const missing = written.indexOf(undefined);
    if (missing >= 0) throw await this.obstacleTo(botId, drafts[missing]!, tx);
    const messages = written as WrittenMessage[];
    await this.announceOutgoing(tx, botId, drafts, messages);
    tx.afterCommit(() => this.publishSignals(messages));
    return messages;
  }

  /** Writes the valid drafts in the caller's transaction. Returns the error message of each other draft by its id. */
  async writePossible(tx: Transaction, botId: string, drafts: NewDraft[]): Promise<Map<string, string>> {
    const written = await this.messages.insertInTransaction(tx, botId, drafts);
    await this.announceOutgoing(tx, botId, drafts, written);
    tx.afterCommit(() => this.publishSignals(written.filter((message) => message !== undefined)));
    const failures = new Map<string, string>();
    for (const [index, draft] of drafts.entries()) {
      if (!written[index]) failures.set(draft.id, (await this.obstacleTo(botId, draft, tx)).message);
    }
    return failures;
  }

  /** Announces messages that an integration has to deliver: those of the bot outside of the native chat. */
  private async announceOutgoing(
    tx: Transaction,
    botId: string,
    drafts: NewDraft[],
    written: (WrittenMessage | undefined)[],
  ): Promise<void> {
    const messages = written.flatMap((message, index) => {
      if (!message || !isDelivered(message) || message.signal !== null) return [];
      const { id, conversation_id: conversationId } = message;
      return [{ id, conversationId, ...(drafts[index]!.alias !== undefined && { isOwn: true }) }];
    });
    for (let first = 0; first < messages.length; first += maxAnnouncedTogether) {
      const some = messages.slice(first, first + maxAnnouncedTogether);
      await this.outbox.add(tx, messagesOutgoing, { botId, messages: some });
    }
  }

  async obstacleTo(botId: string, draft: Draft, tx?: Transaction): Promise<ApiError> {
    const obstacle = await this.messages.findObstacle(botId, draft, tx);
    if (obstacle === 'participation')
      return new ApiError('Forbidden', `User "${draft.user_id}" is not a participant of this conversation.`);
    const id = obstacle === 'conversation' ? draft.conversation_id : draft.user_id;
    return new ApiError('ReferenceNotFound', `${obstacle}Id "${id}" not found.`);
  }

  private async run(): Promise<void> {
    this.running += 1;
    for (let next = this.take(); next; next = this.take()) await this.store(next.botId, next.batch);
    this.running -= 1;
  }

  /** Takes one batch of the next bot; the rest of its queue goes to the end of the round robin. */
  private take(): { botId: string; batch: Request[] } | undefined {
    for (const [botId, requests] of this.waiting) {
      this.waiting.delete(botId);
      const batch = requests.splice(0, fitting(requests));
      if (requests.length > 0) this.waiting.set(botId, requests);
      this.waitingCount -= batch.length;
      this.waitingBytes -= batch.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      const [timely, late] = split(batch, ({ arrivedAt }) => Date.now() - arrivedAt < maxWaitMs);
      late.forEach(({ reject }) => reject(tooMany()));
      if (timely.length > 0) return { botId, batch: timely };
    }
    return undefined;
  }

  private async store(botId: string, batch: Request[]): Promise<void> {
    try {
      const written = await this.messages.insertInOneCommit(
        botId,
        batch.map(({ draft }) => draft),
      );
      this.publishSignals(written.filter((message) => message !== undefined));
      await this.settle(botId, batch, written);
    } catch (error) {
      await this.storeApart(botId, batch, error);
    }
  }

  /**
   * After a failed batch each message is tried alone, so that a bad one does not fail the others. An ApiError fails all
   * of them: it may leave open whether the batch was committed.
   */
  private async storeApart(botId: string, batch: Request[], error: unknown): Promise<void> {
    if (error instanceof ApiError || batch.length === 1) batch.forEach(({ reject }) => reject(error));
    else for (const request of batch) await this.store(botId, [request]);
  }

  /** Requests of others are served between the answers to a large batch. */
  private async settle(botId: string, batch: Request[], written: (WrittenMessage | undefined)[]): Promise<void> {
    const settled: Promise<void>[] = [];
    for (const [index, request] of batch.entries()) {
      settled.push(this.settleRequest(botId, request, written[index]));
      if (settled.length % answersTogether === 0) await yieldToEventLoop();
    }
    await Promise.all(settled);
  }

  /** Retries a message that the batch skipped in its own transaction, which gives its own error. */
  private async settleRequest(
    botId: string,
    { draft, resolve, reject }: Request,
    written?: WrittenMessage,
  ): Promise<void> {
    if (written) return resolve(written);
    await this.database
      .transaction((tx) => this.writeIn(tx, botId, [draft]))
      .then(([message]) => resolve(message!), reject);
  }

  /** Publishes in the order of signal numbers. */
  private publishSignals(written: WrittenMessage[]): void {
    for (const message of written) {
      if (message.signal === null) continue;
      const frames = framesOf(message);
      const before = message.signal - frames.length;
      frames.forEach((frame, index) =>
        this.signals.publish(message.conversation_id, { number: before + index + 1, frame }),
      );
    }
  }
}

/** The event continues the trace of the message's own request, not that of another one in its batch. */
function traced(draft: NewDraft): NewDraft {
  const traceparent = currentTraceparent();
  return traceparent === undefined ? draft : { ...draft, traceparent };
}

/** Signals in the order of their numbers: joined, stream complete, message created. */
function framesOf(message: WrittenMessage): (string | null)[] {
  const participant = participantData(
    { id: message.conversation_id, foreign_id: message.conversation_foreign_id },
    { id: message.user_id, foreign_id: message.user_foreign_id },
  );
  return [
    ...(message.is_joining ? [frameOf({ type: 'participant_added', data: participant })] : []),
    ...(message.ends_stream ? [frameOfMessage('message_stream_complete', message)] : []),
    frameOfMessage('message_created', message),
  ];
}

function fitting(requests: Request[]): number {
  let bytes = 0;
  const end = requests.findIndex(({ sizeBytes }, index) => {
    bytes += sizeBytes;
    return index >= maxMessagesTogether || bytes > maxBytesTogether;
  });
  return end === -1 ? requests.length : Math.max(1, end);
}

function split<T>(all: T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

function tooMany(): ApiError {
  return unavailable('Too many messages are waiting to be written; this one was not written. Retry after 1 s.');
}
