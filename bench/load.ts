import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from './http-connection';

export interface LoadOptions {
  url: string;
  connections: number;
  seconds: number;
  next: () => string;
  /** Requests a second, evenly spaced; by default as many as are answered. Latencies then include the pauses. */
  perSecond?: number;
}

export interface LoadResult {
  count: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  bodyBytes: number;
  /** Number of answers other than 2xx and of requests without an answer. */
  errors: number;
  firstError?: string;
}

/** Closed-loop load: each connection sends its next request after the previous answer. */
export async function runLoad({ url, connections, seconds, next, perSecond }: LoadOptions): Promise<LoadResult> {
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(url)));
  const pauseMs = perSecond ? (1000 * connections) / perSecond : 0;
  const start = performance.now();
  const dueAt = open.map((_connection, index) => start + (pauseMs * index) / connections);
  const senders = open.map((connection, index) => async () => {
    const earlyMs = dueAt[index]! - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    dueAt[index]! += pauseMs;
    const status = await connection.send(next());
    return status < 200 || status > 299 ? `answered ${status}` : undefined;
  });
  const result = await runConcurrently(senders, seconds);
  open.forEach((connection) => connection.close());
  return { ...result, bodyBytes: open.reduce((total, connection) => total + connection.bodyBytes, 0) };
}

/** Runs each task in a loop, concurrently. A task returns a problem to count, or throws to end the run. */
export async function runConcurrently(
  tasks: (() => Promise<string | undefined | void>)[],
  seconds: number,
): Promise<LoadResult> {
  const latenciesUs = createHistogram();
  let errors = 0;
  let firstError: string | undefined;
  const note = (problem: string) => {
    errors++;
    firstError ??= problem;
  };
  const start = performance.now();
  const end = start + seconds * 1000;
  const repeat = async (work: () => Promise<string | undefined | void>) => {
    for (let now = performance.now(); now < end;) {
      const problem = await work();
      const then = now;
      now = performance.now();
      latenciesUs.record(Math.max(1, Math.round((now - then) * 1000)));
      if (problem) note(problem);
    }
  };
  await Promise.all(tasks.map((work) => repeat(work).catch((error: Error) => note(error.message))));
  const elapsedMs = performance.now() - start;
  const count = Number(latenciesUs.count);
  return {
    count,
    perSecond: (1000 * count) / elapsedMs,
    bodyBytes: 0,
    p50Ms: latenciesUs.percentile(50) / 1000,
    p99Ms: latenciesUs.percentile(99) / 1000,
    errors,
    firstError,
  };
}

export function httpRequest(line: string, headers: Record<string, string>, body = ''): string {
  const all = body
    ? { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    : headers;
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `${line} HTTP/1.1\r\nhost: bench\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
