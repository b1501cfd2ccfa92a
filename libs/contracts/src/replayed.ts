const replayed = new WeakSet<object>();

/** Marks this object as a replayed answer, so that the bus reports it to the client. */
export function markReplayed<T extends object>(answer: T): T {
  replayed.add(answer);
  return answer;
}

export function isReplayed(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && replayed.has(answer);
}
