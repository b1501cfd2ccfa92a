import type { Signal } from '@parley/contracts/chat/signals';

/** What streams write of a signal: made once for all of them. */
export class Frame {
  private event?: Buffer;
  private text?: Buffer;

  constructor(
    private readonly number: number,
    private readonly json: string,
  ) {}

  /** As a server-sent event. */
  get asEvent(): Buffer {
    return (this.event ??= Buffer.from(`event: message\nid: ${this.number}\ndata: ${this.json}\n\n`));
  }

  /** As the text of a WebSocket message. */
  get asText(): Buffer {
    return (this.text ??= Buffer.from(this.json));
  }

  /** Of the text, in UTF-16 code units. */
  get size(): number {
    return this.json.length;
  }
}

/** A signal as streams take it. */
export interface Heard {
  number: number;
  /** Absent of a signal that only ends streams. */
  frame?: Frame;
  /** The streams of this user end before it. */
  closes?: string;
}

/** Throws for what is no signal. */
export function heard({ number, frame, closes }: Signal): Heard {
  if (!Number.isSafeInteger(number) || (frame !== null && typeof frame !== 'string')) {
    throw new TypeError('A signal needs a number and a frame.');
  }
  return { number, frame: frame === null ? undefined : new Frame(number, frame), closes };
}
