import type { Duplex } from 'node:stream';
import { endingWithParent } from './ending-with-parent';
import { LimitedProcess, type ProcessLimits } from './limited-process';

export type { ChildEnd } from './limited-process';
export type ChildOptions = Pick<ProcessLimits, 'program' | 'heapMb' | 'residentMb' | 'env' | 'niceness' | 'wrapper'>;

const memoryCheckMs = 50;
/** Variable of a child that the kernel ends with this process. */
export const endsWithParentVariable = 'PARLEY_ENDS_WITH_PARENT';
export const dataDescriptor = 4;

/**
 * Child process for work of our own programs. It exchanges messages (structured clone) and receives bytes over a separate
 * channel. It ends with this process, even when that is killed.
 */
export class SupervisedChild<Order = unknown, Answer = unknown> extends LimitedProcess {
  constructor(options: ChildOptions) {
    const ending = endingWithParent();
    const isEnded = ending.length > 0;
    const wrapper = [...ending, ...(options.wrapper ?? [])];
    const env = { ...options.env, ...(isEnded && { [endsWithParentVariable]: 'yes' }) };
    // Without the kernel, a thread of the child watches this process.
    super({ ...options, wrapper, env, threads: isEnded ? 1 : 2 }, ['ignore', 'ignore', 'pipe', 'ipc', 'pipe']);
    // Writing to an ended child fails; `ended` has the cause.
    this.data.on('error', () => undefined);
    void this.ended.then(() => this.unwatch());
  }

  /** Data channel to the child, which reads it with ChildData. */
  get data(): Duplex {
    return this.process.stdio[dataDescriptor] as Duplex;
  }

  /** Backpressure: resolves when the child has taken most of the bytes, or has closed the channel. */
  async write(part: Uint8Array): Promise<void> {
    const { data } = this;
    if (data.destroyed || data.write(part)) return;
    await new Promise<void>((resolve) => {
      const settle = () => {
        data.off('drain', settle).off('close', settle);
        resolve();
      };
      data.on('drain', settle).on('close', settle);
    });
  }

  /** Sets the message listener, replacing the previous one, and starts the memory check. */
  watch(onAnswer: (answer: Answer) => void): void {
    this.unwatch();
    this.process.on('message', onAnswer);
    this.startMemoryCheck(memoryCheckMs);
  }

  unwatch(): void {
    this.stopMemoryCheck();
    this.process.removeAllListeners('message');
  }

  /** A message to an ended child is dropped; see `ended`. */
  send(order: Order): void {
    if (this.process.connected) this.process.send(order as object, () => undefined);
  }
}
