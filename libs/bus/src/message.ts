/** What travels over the bus. */
export interface Message {
  /** One line: of a request the caller as JSON, of an answer how it went. */
  head: string;
  /** JSON text. */
  body: string;
}

/** A request, whose body may be large. */
export interface RequestMessage {
  head: string;
  /** JSON, as text or as the bytes of it: those are the receiver's alone. */
  body: string | Uint8Array;
  /** Whose share of what is scarce it takes, for who must choose before the head is read. */
  tenant?: string;
}

/** An input that somebody has checked and written as JSON already. It is sent once: the bytes move to the receiver. */
export class JsonBytes {
  constructor(readonly bytes: Uint8Array) {}
}

/** Bodies above this size are read on threads of their own. */
export const largeBodyBytes = 1_000_000;
