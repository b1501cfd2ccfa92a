import type { Failure } from '../recorded-requests';

/** Faults are reported with an error for this long after their begin or end. */
const nearMs = 12_000;

interface Entry {
  kind: string;
  target: string;
  begunAt: number;
  healedAt?: number;
}

/** Log of injected faults. */
export class Chronicle {
  private readonly entries: Entry[] = [];

  /** Logs a fault; call the result when it is over. */
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

  /** Text: faults near this time, with the milliseconds since each began. */
  near(time: number): string {
    const near = this.entries.filter(({ begunAt, healedAt = Infinity }) => begunAt <= time && time - nearMs < healedAt);
    const told = near.map(({ kind, target, begunAt }) => `${kind} (${target}) ${time - begunAt} ms before`);
    return told.join(', ') || 'no fault shortly before';
  }

  /** True when a process that accepts client connections was killed during the request. */
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
