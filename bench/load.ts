import { createHistogram } from 'node:perf_hooks';
import { HttpConnection } from './http-connection';

export interface Load {
  url: string;
  connections: number;
  seconds: number;
  /** The next request as it goes over the wire. */
  next: () => string;
}

export interface LoadResult {
  /** Answers. */
  count: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Of all answers together, without their heads. */
  bodyBytes: number;
  /** Answers other than 2xx and requests without an answer, with the first one's reason. */
  errors: number;
  firstError?: string;
}

/** A closed loop: each connection sends its next request when it has the answer to the one before. */
export async function runLoad({ url, connections, seconds, next }: Load): Promise<LoadResult> {
  const latenciesUs = createHistogram();
  let errors = 0;
  let firstError: string | undefined;
  const note = (problem: string) => {
    errors++;
    firstError ??= problem;
  };
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(url)));
  const start = performance.now();
  const end = start + seconds * 1000;
  const loop = async (connection: HttpConnection) => {
    for (let now = performance.now(); now < end;) {
      const status = await connection.send(next());
      const then = now;
      now = performance.now();
      latenciesUs.record(Math.max(1, Math.round((now - then) * 1000)));
      if (status < 200 || status > 299) note(`answered ${status}`);
    }
  };
  await Promise.all(open.map((connection) => loop(connection).catch((error: Error) => note(error.message))));
  const elapsedMs = performance.now() - start;
  open.forEach((connection) => connection.close());
  const count = Number(latenciesUs.count);
  return {
    count,
    perSecond: (1000 * count) / elapsedMs,
    bodyBytes: open.reduce((total, connection) => total + connection.bodyBytes, 0),
    p50Ms: latenciesUs.percentile(50) / 1000,
    p99Ms: latenciesUs.percentile(99) / 1000,
    errors,
    firstError,
  };
}

/** `GET` or `PUT` with these headers and this body, as text. */
export function httpRequest(line: string, headers: Record<string, string>, body = ''): string {
  const all = body
    ? { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    : headers;
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `${line} HTTP/1.1\r\nhost: bench\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}
