import type { Stream } from './stream';

/** Pings are spread: streams are in this many groups, which are pinged one after the other. */
const groupCount = 20;

/** Streams that get a ping each time that the interval has passed. */
export class StreamPings {
  private readonly groups = Array.from({ length: groupCount }, () => new Set<Stream>());
  private timer?: NodeJS.Timeout;
  private added = 0;

  constructor(private readonly intervalMs: number) {}

  start(): void {
    let next = 0;
    this.timer = setInterval(() => {
      const now = performance.now();
      for (const stream of this.groups[next]!) stream.ping(now);
      next = (next + 1) % groupCount;
    }, this.intervalMs / groupCount);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  add(stream: Stream): void {
    this.groups[(this.added += 1) % groupCount]!.add(stream);
  }

  remove(stream: Stream): void {
    for (const group of this.groups) group.delete(stream);
  }

  streams(): Stream[] {
    return this.groups.flatMap((group) => [...group]);
  }
}
