import {
  type AnswerControl,
  answerPulseMs,
  answerSilenceMs,
  type AnswerState,
  type AnswerSubjects,
  answerWindow,
} from '@parley/contracts/answer-streams';
import type { ParleyClient } from './parley-client';
import type { ParleyServer } from './parley-server';
import type { Subscription } from './driver';

/** Characters of a frame: well below the largest message of the broker, also when each is escaped. */
const maxFrameLength = 64_000;

/** The receiver of a streamed answer has gone, or was silent for too long. */
export class ReceiverGone extends Error {
  override readonly name = 'ReceiverGone';
}

/**
 * Sending side of a streamed answer, from the arrival of the request on: `signal` aborts when the client goes. Flow
 * control: `write` waits while more than `answerWindow` characters are on their way.
 */
export class AnswerSender {
  private readonly gone = new AbortController();
  private readonly subscription: Subscription;
  private readonly pulse: NodeJS.Timeout;
  private number = 0;
  private sent = 0;
  private received = 0;
  private heardAt = Date.now();
  private isBegun = false;
  private begin: () => void = () => undefined;
  private resume?: () => void;
  private closed: () => void = () => undefined;

  constructor(
    private readonly client: ParleyClient,
    server: ParleyServer,
    private readonly streams: AnswerSubjects,
    private readonly key: string,
  ) {
    this.subscription = server.serveInstance(streams.control, key, (_caller, control) => this.heed(control), {
      isKept: true,
    });
    server.hold(new Promise<void>((resolve) => (this.closed = resolve)));
    this.pulse = setInterval(() => this.beat(), answerPulseMs).unref();
  }

  /** Aborted when the client has gone. */
  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Whether a part was written. */
  get isOpen(): boolean {
    return this.isBegun;
  }

  /** Calls back right before the first part is sent. */
  onOpen(begin: () => void): void {
    this.begin = begin;
  }

  /** Throws ReceiverGone. */
  async write(text: string): Promise<void> {
    if (!this.isBegun) this.begin();
    this.isBegun = true;
    for (const part of partsOf(text)) {
      this.gone.signal.throwIfAborted();
      this.publish({ text: part });
      this.sent += part.length;
      if (this.isFull) await new Promise<void>((resolve) => (this.resume = resolve));
    }
    this.gone.signal.throwIfAborted();
  }

  /** Ends an answer that has begun: the receiver closes the connection of a broken one without its last chunk. */
  end(end: 'complete' | 'broken'): void {
    if (this.isBegun && !this.gone.signal.aborted) this.publish({ end });
  }

  /** Stops listening to the receiver. */
  close(): void {
    clearInterval(this.pulse);
    this.subscription.stop();
    this.closed();
  }

  private heed({ received, stop }: AnswerControl): Promise<AnswerState> {
    this.heardAt = Date.now();
    this.received = Math.max(this.received, received);
    if (stop) this.leave();
    else if (!this.isFull) this.resume?.();
    return Promise.resolve({});
  }

  private get isFull(): boolean {
    return this.sent - this.received > answerWindow;
  }

  /** Before the first frame the request itself is under way: the receiver is silent then. */
  private beat(): void {
    if (!this.isBegun) this.heardAt = Date.now();
    else if (Date.now() - this.heardAt > answerSilenceMs) this.leave();
    else this.publish({});
  }

  private leave(): void {
    this.gone.abort(new ReceiverGone('The client has closed the connection.'));
    this.resume?.();
  }

  private publish(part: { text?: string; end?: 'complete' | 'broken' }): void {
    this.number += 1;
    this.client.publishTo(this.streams.frames, this.key, { number: this.number, ...part });
  }
}

/** Parts of at most `maxFrameLength`, none of which ends within a character. */
function* partsOf(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + maxFrameLength, text.length);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    yield text.slice(start, end);
    start = end;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
