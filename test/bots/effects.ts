import { appendFileSync } from 'node:fs';

/** Call of a handler, as a bot records it. Deliveries of one event have the same `eventId`. */
export interface Effect {
  /** Absent for an expired state: handlers of the SDK get no event then. */
  eventId?: string;
  type: string;
  conversationId?: string;
  text?: string;
  /** Handlers of this conversation at work in the process, this one included. 1 unless deliveries overlap. */
  concurrent: number;
  /** Milliseconds since 1970. */
  at: number;
}

const working = new Map<string, number>();

/** Appends one line to the file in BOT_EFFECTS before the work starts, so that failing and killed calls count as well. */
export async function recorded(
  { eventId, type, conversationId, text }: Omit<Effect, 'concurrent' | 'at'>,
  work: () => Promise<unknown> = async () => {},
): Promise<void> {
  const key = conversationId ?? '';
  const concurrent = (working.get(key) ?? 0) + 1;
  working.set(key, concurrent);
  const effect: Effect = { eventId, type, conversationId, text, concurrent, at: Date.now() };
  const file = process.env['BOT_EFFECTS'];
  if (file) appendFileSync(file, `${JSON.stringify(effect)}\n`);
  try {
    await work();
  } finally {
    working.set(key, working.get(key)! - 1);
  }
}
