import { Injectable } from '@nestjs/common';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/database/database';
import { frameOf, frameOfMessage, shownPlace } from '../signals/signal.entity';
import { SignalsService } from '../signals/signals.service';
import { type Draft, type NewDraft, NewMessagesRepository, type WrittenMessage } from './new-messages.repository';

interface Request {
  draft: NewDraft;
  sizeBytes: number;
  arrivedAt: number;
  resolve: (message: WrittenMessage) => void;
  reject: (error: unknown) => void;
}

/** Of one process: while some commit, the next are collected. */
const statementsAtOnce = 3;
const maxMessagesTogether = 100;
/** Of drafts that are put together; one that is larger goes alone. */
const maxBytesTogether = 2_000_000;
/** What waits at most: some seconds of work. */
const maxWaitingMessages = 5_000;
const maxWaitingBytes = 64_000_000;
/** Who has waited that long is about to be told that there is no answer. */
const maxWaitMs = 8_000;

/**
 * Writes messages and tells who listens. Messages that arrive while others of their bot are being written go together in
 * the next statement, so that many at once cost little more than one; each has its own answer, as if it were alone.
 */
@Injectable()
export class MessageWriter {
  /** By bot; the bot whose turn it is comes first. */
  private readonly waiting = new Map<string, Request[]>();
  private waitingCount = 0;
  private waitingBytes = 0;
  private running = 0;

  constructor(
    private readonly database: Database,
    private readonly messages: NewMessagesRepository,
    private readonly signals: SignalsService,
  ) {}

  /** Resolves when the message is stored for good. Throws ReferenceNotFound or Forbidden for what keeps it from that. */
  write(botId: string, draft: NewDraft): Promise<WrittenMessage> {
    const sizeBytes = Buffer.byteLength(JSON.stringify(draft));
    if (this.waitingCount >= maxWaitingMessages || this.waitingBytes + sizeBytes > maxWaitingBytes)
      return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      const requests = this.waiting.get(botId) ?? [];
      requests.push({ draft, sizeBytes, arrivedAt: Date.now(), resolve, reject });
      this.waiting.set(botId, requests);
      this.waitingCount += 1;
      this.waitingBytes += sizeBytes;
      if (this.running < statementsAtOnce) void this.run();
    });
  }

  /** In a transaction with something else: all of them or, by throwing the same, none. They are told after its commit. */
  async writeIn(tx: Transaction, botId: string, drafts: NewDraft[]): Promise<WrittenMessage[]> {
    const written = await this.messages.insert(tx, botId, drafts);
    const missing = written.indexOf(undefined);
    if (missing >= 0) throw await this.obstacleTo(botId, drafts[missing]!, tx);
    tx.afterCommit(() => this.tell(written as WrittenMessage[]));
    return written as WrittenMessage[];
  }

  /** The same for those that can be written. For each other one, by its id, what keeps it from that. */
  async writePossible(tx: Transaction, botId: string, drafts: NewDraft[]): Promise<Map<string, string>> {
    const written = await this.messages.insert(tx, botId, drafts);
    tx.afterCommit(() => this.tell(written.filter((message) => message !== undefined)));
    const failures = new Map<string, string>();
    for (const [place, draft] of drafts.entries()) {
      if (!written[place]) failures.set(draft.id, (await this.obstacleTo(botId, draft, tx)).message);
    }
    return failures;
  }

  /** What to throw for a draft that could not be written. */
  async obstacleTo(botId: string, draft: Draft, tx?: Transaction): Promise<ApiError> {
    const obstacle = await this.messages.findObstacle(botId, draft, tx);
    if (obstacle === 'participation')
      return new ApiError('Forbidden', `The user "${draft.user_id}" does not take part in this conversation.`);
    const id = obstacle === 'conversation' ? draft.conversation_id : draft.user_id;
    return new ApiError('ReferenceNotFound', `${obstacle}Id "${id}" names no ${obstacle} that is here.`);
  }

  private async run(): Promise<void> {
    this.running += 1;
    for (let next = this.take(); next; next = this.take()) await this.store(next.botId, next.batch);
    this.running -= 1;
  }

  /** As many of the next bot as fit one statement. Its others wait until the other bots had their turn. */
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
      const written = await this.messages.insertTogether(
        botId,
        batch.map(({ draft }) => draft),
      );
      this.tell(written.filter((message) => message !== undefined));
      await Promise.all(batch.map((request, place) => this.answer(botId, request, written[place])));
    } catch (error) {
      await this.storeApart(botId, batch, error);
    }
  }

  /** Nothing was stored, unless the error leaves that open: then who sent one that is well need not suffer for another. */
  private async storeApart(botId: string, batch: Request[], error: unknown): Promise<void> {
    if (error instanceof ApiError || batch.length === 1) batch.forEach(({ reject }) => reject(error));
    else for (const request of batch) await this.store(botId, [request]);
  }

  /** What was not written with the others is tried alone: its failure is nobody else's. */
  private async answer(botId: string, { draft, resolve, reject }: Request, written?: WrittenMessage): Promise<void> {
    if (written) return resolve(written);
    await this.database
      .transaction((tx) => this.writeIn(tx, botId, [draft]))
      .then(([message]) => resolve(message!), reject);
  }

  /** In the order of their numbers. */
  private tell(written: WrittenMessage[]): void {
    for (const message of written) {
      if (message.signal === null) continue;
      const frames = framesOf(message);
      const before = message.signal - frames.length;
      frames.forEach((frame, place) =>
        this.signals.publish(message.conversation_id, { number: before + place + 1, frame }),
      );
    }
  }
}

/** As they are numbered: who comes, what is complete, what is new. */
function framesOf(message: WrittenMessage): (string | null)[] {
  const place = shownPlace(
    { id: message.conversation_id, foreign_id: message.conversation_foreign_id },
    { id: message.user_id, foreign_id: message.user_foreign_id },
  );
  return [
    ...(message.is_joining ? [frameOf({ type: 'participant_added', data: place })] : []),
    ...(message.ends_stream ? [frameOfMessage('message_stream_complete', message)] : []),
    frameOfMessage('message_created', message),
  ];
}

/** How many of the first requests go together; one at least. */
function fitting(requests: Request[]): number {
  let bytes = 0;
  const end = requests.findIndex(({ sizeBytes }, place) => {
    bytes += sizeBytes;
    return place >= maxMessagesTogether || bytes > maxBytesTogether;
  });
  return end === -1 ? requests.length : Math.max(1, end);
}

function split<T>(all: T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

function tooMany(): ApiError {
  return unavailable('More messages wait to be written than can be. Try again in a moment.');
}
