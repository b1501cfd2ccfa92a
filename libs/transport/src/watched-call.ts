import { randomUUID } from 'node:crypto';
import { answerPulseMs } from '@parley/contracts/answer-streams';
import type { Caller } from '@parley/contracts/caller';
import { unavailable } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import type { ParleyClient } from './parley-client';

/** Pulses in a row that nobody answers. A large request waits for its turn first, and nobody answers meanwhile. */
const maxMissed = 4;

/**
 * Calls an operation that declares `answers`, and whose answer in one piece may take minutes. The call ends at the service
 * when the signal aborts, and with 503 soon after the process that works on it has died. Throws like `ParleyClient.call`, or the
 * reason of the signal.
 */
export async function callWatched<I, O>(
  client: ParleyClient,
  operation: Operation<I, O>,
  caller: Caller,
  input: I,
  signal: AbortSignal,
): Promise<O> {
  signal.throwIfAborted();
  const { control } = operation.answers!;
  const answerKey = randomUUID();
  const tell = (stop: boolean) => client.callInstance(control, answerKey, caller, { received: 0, stop });
  let pulse: NodeJS.Timeout | undefined;
  let abort = () => undefined as void;
  const ended = new Promise<never>((_resolve, reject) => {
    let missed = 0;
    const miss = () => {
      missed += 1;
      if (missed >= maxMissed) reject(unavailable(`The process that worked on ${operation.subject} has ended.`));
    };
    pulse = setInterval(() => void tell(false).then(() => (missed = 0), miss), answerPulseMs).unref();
    abort = () => {
      // A process that does not hear it notices the end at its own deadline.
      tell(true).catch(() => undefined);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([client.call(operation, { ...caller, answerKey }, input), ended]);
  } finally {
    clearInterval(pulse);
    signal.removeEventListener('abort', abort);
  }
}
