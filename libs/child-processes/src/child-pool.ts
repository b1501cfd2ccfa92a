import { type ChildOptions, SupervisedChild } from './supervised-child';

export interface PoolOptions extends ChildOptions {
  idleMs: number;
  /** Limit of resident memory in MiB above which a child is not reused: V8 rarely gives memory back. */
  keptResidentMb: number;
}

/** Pool of child processes for one program. A child serves one user at a time and stays warm in between. */
export class ChildPool<Order, Answer> {
  private readonly idle: { child: SupervisedChild<Order, Answer>; timer: NodeJS.Timeout }[] = [];
  private readonly all = new Set<SupervisedChild<Order, Answer>>();

  constructor(private readonly options: PoolOptions) {}

  /** A child for exclusive use: a warm one or a new one. Give it back or kill it. */
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

  async close(): Promise<void> {
    for (const { timer } of this.idle.splice(0)) clearTimeout(timer);
    const ended = Array.from(this.all, (child) => {
      child.kill();
      return child.ended;
    });
    await Promise.all(ended);
  }
}
