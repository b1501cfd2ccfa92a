import type { Duplex } from 'node:stream';
import { LimitedProcess, type ProcessLimits } from './limited-process';

export type { ChildEnd } from './limited-process';
export type ChildOptions = Pick<ProcessLimits, 'program' | 'heapMb' | 'residentMb' | 'env'>;

const memoryCheckMs = 50;
export const dataDescriptor = 4;

/**
 * Child process for work of our own programs. It exchanges messages (structured clone) and receives bytes over a separate
 * channel. It ends with this process, even when that is killed.
 */
export class SupervisedChild<Order = unknown, Answer = unknown> extends LimitedProcess {
  constructor(options: ChildOptions) {
    super(options, ['ignore', 'ignore', 'pipe', 'ipc', 'pipe']);
    // Writing to an ended child fails; `ended` has the cause.
    this.data.on('error', () => undefined);
    void this.ended.then(() => this.unwatch());
  }

  /** Data channel to the child, which reads it with ChildData. */
  get data(): Duplex {
    return this.process.stdio[dataDescriptor] as Duplex;
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
