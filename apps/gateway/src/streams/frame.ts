import type { Signal } from '@parley/contracts/chat/signals';

/** A signal serialized for streams: each format is made once for all streams. */
export class Frame {
  private event?: Buffer;
  private text?: Buffer;

  constructor(
    private readonly number: number,
    private readonly json: string,
  ) {}

  get asEvent(): Buffer {
    return (this.event ??= Buffer.from(`event: message\nid: ${this.number}\ndata: ${this.json}\n\n`));
  }

  get asText(): Buffer {
    return (this.text ??= Buffer.from(this.json));
  }

  /** Length of the text in UTF-16 code units. */
  get size(): number {
    return this.json.length;
  }
}

export interface ReceivedSignal {
  number: number;
  /** Absent for a signal that only closes streams. */
  frame?: Frame;
  /** Id of the user whose streams close instead of getting this signal. */
  closes?: string;
}

/** Throws TypeError for an invalid signal. */
export function parseSignal({ number, frame, closes }: Signal): ReceivedSignal {
  if (!Number.isSafeInteger(number) || (frame !== null && typeof frame !== 'string')) {
    throw new TypeError('A signal needs a number and a frame.');
  }
  return { number, frame: frame === null ? undefined : new Frame(number, frame), closes };
}
