import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger, Promised, PromisedConversation, PromisedTable, PromisedValues, Value } from '../checker/ledger';
import type { Failure, RecordedRequests } from '../recorded-requests';
import type { Random } from './random';

const pauseMs = 150;
const mostTries = 40;

export interface Desk {
  table: PromisedTable;
  conversation: PromisedConversation;
  /** Conversation into whose state all writers merge. */
  meeting: PromisedConversation;
  userId: string;
}

interface Write {
  method: string;
  path: string;
  body: object;
  /** State after an acknowledgement. */
  promises: [Promised<Value>, Value][];
}

/**
 * Writes messages, rows, tags and states. Retries most failures, with one idempotency key where the operation takes
 * one.
 */
export class Writer {
  private count = 0;

  constructor(
    private readonly name: string,
    private readonly requests: RecordedRequests,
    private readonly ledger: Ledger,
    private readonly desk: Desk,
    private readonly random: Random,
  ) {}

  async run(signal: AbortSignal, pauseBetweenMs: number): Promise<void> {
    while (!signal.aborted) {
      this.count += 1;
      await this.next(signal);
      await sleep(pauseBetweenMs);
    }
  }

  private next(signal: AbortSignal): Promise<void> {
    const { table, conversation, meeting, userId } = this.desk;
    const name = `${this.name}n${this.count}`;
    const tag = `${this.name}t${this.count % 10}`;
    const row = `${this.name}r${this.random.between(0, 20)}`;
    const rows = [1, 2, 3].map((place) => ({ name: `${name}i${place}`, value: place }));
    const works: (() => Promise<void>)[] = [
      () =>
        this.once(signal, {
          method: 'POST',
          path: '/v1/chat/messages',
          body: { conversationId: conversation.id, userId, type: 'text', payload: { text: name }, tags: {} },
          promises: this.promise(conversation.messages, name, 'said'),
        }),
      () =>
        this.once(signal, {
          method: 'POST',
          path: `/v1/tables/${table.id}/rows`,
          body: { rows },
          promises: rows.flatMap((inserted) => this.promise(table.rows, inserted.name, inserted.value)),
        }),
      () =>
        this.once(signal, {
          method: 'POST',
          path: `/v1/tables/${table.id}/rows/upsert`,
          body: { keyColumn: 'name', rows: [{ name: row, value: this.count }] },
          promises: this.promise(table.rows, row, this.count),
        }),
      () =>
        this.repeatedly(signal, {
          method: 'PATCH',
          path: `/v1/chat/states/conversation/${meeting.id}/${meeting.state.name}`,
          body: { payload: { [name]: this.count } },
          promises: this.promise(meeting.state.entries, name, this.count),
        }),
      () =>
        this.repeatedly(signal, {
          method: 'PUT',
          path: `/v1/chat/conversations/${conversation.id}`,
          body: { tags: { [tag]: name } },
          promises: this.promise(conversation.tags, tag, name),
        }),
    ];
    return this.random.oneOf([...works, works[0]!])();
  }

  private promise(values: PromisedValues, name: string, value: Value): [Promised<Value>, Value][] {
    return [[this.ledger.of(values, name), value]];
  }

  /** With one idempotency key, all tries are one attempt: nothing was written if each was rejected. */
  private async once(signal: AbortSignal, { method, path, body, promises }: Write): Promise<void> {
    const headers = { 'idempotency-key': randomUUID() };
    const acknowledge = promises.map(([promised, value]) => this.ledger.attempt(promised, value));
    let mayBeDone = false;
    for (let tries = 0; this.mayTry(tries, signal); tries += 1) {
      const result = await this.requests.ask(method, path, body, headers);
      if ('answer' in result) return acknowledge.forEach((done) => done());
      mayBeDone ||= !wasRefused(result.failure);
      await sleep(pauseMs);
    }
    if (!mayBeDone) promises.forEach(([promised, value]) => this.ledger.refused(promised, value));
  }

  /** Each try is a separate attempt, which may be applied even after a later one was acknowledged. */
  private async repeatedly(signal: AbortSignal, { method, path, body, promises }: Write): Promise<void> {
    for (let tries = 0; this.mayTry(tries, signal); tries += 1) {
      const acknowledge = promises.map(([promised, value]) => this.ledger.attempt(promised, value));
      const result = await this.requests.ask(method, path, body);
      if ('answer' in result) return acknowledge.forEach((done) => done());
      if (wasRefused(result.failure)) promises.forEach(([promised, value]) => this.ledger.refused(promised, value));
      await sleep(pauseMs);
    }
  }

  private mayTry(tries: number, signal: AbortSignal): boolean {
    if (tries === 0) return true;
    return tries < mostTries && !signal.aborted && this.random.fraction() < 0.9;
  }
}

/** 503 guarantees that the request was not processed. */
function wasRefused({ outcome, kind }: Failure): boolean {
  return kind === 'refused' || (kind === 'answered' && outcome.startsWith('503 '));
}
