import { type ChildOptions, SupervisedChild } from './supervised-child';

export interface PoolOptions extends ChildOptions {
  /** A child that nobody used for so long ends. */
  idleMs: number;
  /** A child with more resident memory, in MiB, ends after its work: what V8 has once taken it rarely gives back. */
  keptResidentMb: number;
}

/** Children of one program, each used by one at a time and kept warm in between. */
export class ChildPool<Order, Answer> {
  private readonly idle: { child: SupervisedChild<Order, Answer>; timer: NodeJS.Timeout }[] = [];
  private readonly all = new Set<SupervisedChild<Order, Answer>>();

  constructor(private readonly options: PoolOptions) {}

  /** A child that nobody else uses: a warm one, or a new one. Give it back, or kill it. */
  take(): SupervisedChild<Order, Answer> {
    for (let warm = this.idle.pop(); warm; warm = this.idle.pop()) {
      clearTimeout(warm.timer);
      if (warm.child.isAlive) return warm.child;
    }
    const child = new SupervisedChild<Order, Answer>(this.options);
    this.all.add(child);
    void child.ended.then(() => this.all.delete(child));
    return child;
  }

  async giveBack(child: SupervisedChild<Order, Answer>): Promise<void> {
    child.unwatch();
    if ((await child.residentBytes()) > this.options.keptResidentMb * 2 ** 20) return child.kill();
    const timer = setTimeout(() => child.kill(), this.options.idleMs).unref();
    this.idle.push({ child, timer });
  }

  /** Ends all children, also those at work. */
  async close(): Promise<void> {
    for (const { timer } of this.idle.splice(0)) clearTimeout(timer);
    const ended = Array.from(this.all, (child) => {
      child.kill();
      return child.ended;
    });
    await Promise.all(ended);
  }
}
