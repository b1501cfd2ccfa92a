export interface Message {
  /** One line: the caller as JSON in a request, the outcome in an answer. */
  head: string;
  body: string;
}

export interface RequestMessage {
  head: string;
  /** JSON as text, or as bytes that belong to the receiver alone. */
  body: string | Uint8Array;
  /** Tenant for fair queueing before the head is parsed. */
  tenant?: string;
}

/** Validated input that is serialised already. Can be sent once: the bytes are transferred to the receiver. */
export class JsonBytes {
  constructor(readonly bytes: Uint8Array) {}
}

/** Output of an operation, serialised already. */
export class JsonText<T> {
  declare readonly output?: T;

  constructor(readonly text: string) {}
}

/** Bodies above this size are parsed on worker threads. */
export const largeBodyBytes = 1_000_000;
