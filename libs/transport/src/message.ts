import type { JsonLines } from '@parley/background/json-lines';

export interface Message {
  /** One line: the caller as JSON in a request, the outcome in an answer. */
  head: string;
  body: string;
}

export interface RequestMessage {
  head: string;
  body: string | JsonLines;
  /** Tenant for fair queueing before the head is parsed. */
  tenant?: string;
}

/** Output of an operation, serialised already. */
export class JsonText<T> {
  declare readonly output?: T;

  constructor(readonly text: string) {}
}

/** Larger messages give turns of the event loop to others. */
export const largeBodyBytes = 1_000_000;
