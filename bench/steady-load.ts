import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from './http-connection';

/** Requests that are begun at a steady pace, whatever becomes of those before. */
export interface SteadyLoad {
  url: string;
  connections: number;
  seconds: number;
  perSecond: number;
  /** The request of this number as it goes over the wire, and how many hear of it. */
  request: (number: number) => string;
  listeners: number;
}

export interface Heard {
  /** How often somebody heard of a request. */
  count: number;
  perSecond: number;
  /** From the time at which a request was to be sent until somebody heard of it. */
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  /** How much later than that it was sent, which is this process's fault or that of all connections being busy. */
  lateMs: number;
  firstError?: string;
}

/** Sends requests of one side and takes the time until those who listen have heard of them. */
export class SteadyLoader {
  private first = 0;
  private dueAt: number[] = [];
  private latenciesUs = createHistogram();

  /** @param patienceMs for what is still under way after the last request */
  constructor(private readonly patienceMs = 5_000) {}

  /** To be called whenever somebody has heard of the request of this number. What is late from another round is ignored. */
  readonly heard = (number: number): void => {
    const dueAt = this.dueAt[number - this.first];
    if (dueAt !== undefined) this.latenciesUs.record(microseconds(performance.now() - dueAt));
  };

  async run({ url, connections, seconds, perSecond, request, listeners }: SteadyLoad): Promise<Heard> {
    const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(url)));
    const latenessUs = createHistogram();
    const idle = [...open];
    const waiting: number[] = [];
    const underWay = new Set<Promise<void>>();
    let firstError: string | undefined;
    const send = () => {
      for (let number; idle.length > 0 && (number = waiting.shift()) !== undefined;) {
        const connection = idle.pop()!;
        latenessUs.record(microseconds(performance.now() - this.dueAt[number - this.first]!));
        const answered = connection
          .send(request(number))
          .then((status) => {
            if (status !== 201) firstError ??= `answered ${status}`;
            idle.push(connection);
          })
          .catch((error: Error) => {
            firstError ??= error.message;
          })
          .finally(() => {
            underWay.delete(answered);
            send();
          });
        underWay.add(answered);
      }
    };

    this.first += this.dueAt.length;
    this.dueAt = [];
    this.latenciesUs = createHistogram();
    const start = performance.now();
    const total = Math.round(seconds * perSecond);
    for (let i = 0; i < total; i++) {
      const dueAt = start + (1000 * i) / perSecond;
      while (performance.now() < dueAt) await sleep(dueAt - performance.now());
      this.dueAt.push(dueAt);
      waiting.push(this.first + i);
      send();
    }
    const expected = total * listeners;
    const deadline = performance.now() + this.patienceMs;
    while ((underWay.size > 0 || this.count < expected) && performance.now() < deadline) await sleep(1);
    const elapsedMs = performance.now() - start;
    open.forEach((connection) => connection.close());
    if (this.count !== expected) firstError ??= `${this.count} of ${expected} frames arrived`;
    const ms = (part: number) => this.latenciesUs.percentile(part) / 1000;
    return {
      count: this.count,
      perSecond: (1000 * this.count) / elapsedMs,
      p50Ms: ms(50),
      p95Ms: ms(95),
      p99Ms: ms(99),
      lateMs: latenessUs.percentile(95) / 1000,
      firstError,
    };
  }

  private get count(): number {
    return this.latenciesUs.count;
  }
}

function microseconds(ms: number): number {
  return Math.max(1, Math.round(1000 * ms));
}
