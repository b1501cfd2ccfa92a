import type { Failure } from '../noted-requests';

/** How long after a harm has begun, or was healed, it is told beside what went wrong. */
const nearMs = 12_000;

interface Entry {
  kind: string;
  target: string;
  begunAt: number;
  healedAt?: number;
}

/** What was done to the platform, and when. */
export class Chronicle {
  private readonly entries: Entry[] = [];

  /** Call what it gives when the harm is healed. */
  begin(kind: string, target: string): () => void {
    const entry: Entry = { kind, target, begunAt: Date.now() };
    this.entries.push(entry);
    return () => (entry.healedAt = Date.now());
  }

  get counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { kind } of this.entries) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }

  /** In words, with how many milliseconds before this time each has begun. */
  near(time: number): string {
    const near = this.entries.filter(({ begunAt, healedAt = Infinity }) => begunAt <= time && time - nearMs < healedAt);
    const told = near.map(({ kind, target, begunAt }) => `${kind} (${target}) ${time - begunAt} ms before`);
    return told.join(', ') || 'nothing was done to it shortly before';
  }

  /** Whether a process that takes connections of clients was killed while the request was under way. */
  hasKilledFront({ endedAt, tookMs }: Failure, targets: string[]): boolean {
    return this.entries.some(
      ({ kind, target, begunAt }) =>
        kind.startsWith('kill -9') &&
        targets.includes(target) &&
        begunAt >= endedAt - tookMs - 100 &&
        begunAt <= endedAt,
    );
  }
}
