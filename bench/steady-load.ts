import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from './http-connection';

/** Open-loop load: requests start at a constant rate, regardless of earlier answers. */
export interface SteadyLoad {
  url: string;
  connections: number;
  seconds: number;
  perSecond: number;
  request: (number: number) => string;
  listeners: number;
}

export interface FrameLatencies {
  count: number;
  perSecond: number;
  /** Latency from the due time of a request until a listener receives its frame. */
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  /** p95 of the delay between due time and sending, caused by this process or by a lack of idle connections. */
  lateMs: number;
  firstError?: string;
}

/** Sends requests of one side at a constant rate and measures the latency until listeners receive them. */
export class SteadyLoader {
  private first = 0;
  private dueAt: number[] = [];
  private latenciesUs = createHistogram();

  /** @param patienceMs waiting time for pending frames after the last request */
  constructor(private readonly patienceMs = 5_000) {}

  /** Callback for each received frame, by request number. Late frames of earlier rounds are ignored. */
  readonly onFrame = (number: number): void => {
    const dueAt = this.dueAt[number - this.first];
    if (dueAt !== undefined) this.latenciesUs.record(microseconds(performance.now() - dueAt));
  };

  async run({ url, connections, seconds, perSecond, request, listeners }: SteadyLoad): Promise<FrameLatencies> {
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
