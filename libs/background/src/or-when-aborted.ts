import { once } from 'node:events';

/** Result of the work, or this error as soon as the signal is aborted. The work is not stopped. */
export async function orWhenAborted<T>(signal: AbortSignal, work: Promise<T>, error: () => Error): Promise<T> {
  const ended = new AbortController();
  const aborted = async (): Promise<never> => {
    if (!signal.aborted) await once(signal, 'abort', { signal: ended.signal });
    throw error();
  };
  try {
    return await Promise.race([work, aborted()]);
  } finally {
    ended.abort();
  }
}
