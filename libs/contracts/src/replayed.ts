const replayed = new WeakSet<object>();

/** This very object is an answer that was given before, which whoever sends it says. */
export function markReplayed<T extends object>(answer: T): T {
  replayed.add(answer);
  return answer;
}

export function isReplayed(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && replayed.has(answer);
}
