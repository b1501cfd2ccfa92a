/** Header of a response to a request that took effect, although something of it needs attention. */
export const warningHeader = 'x-parley-warning';

const warnings = new WeakMap<object, string>();

/** Adds a warning to this answer, which the bus reports to the client beside it. */
export function withWarning<T extends object>(answer: T, warning: string): T {
  warnings.set(answer, warning);
  return answer;
}

export function warningOf(answer: unknown): string | undefined {
  return typeof answer === 'object' && answer !== null ? warnings.get(answer) : undefined;
}
