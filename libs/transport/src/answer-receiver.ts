import { Readable } from 'node:stream';
import {
  type AnswerFrame,
  answerPulseMs,
  answerSilenceMs,
  type AnswerSubjects,
  answerWindow,
} from '@parley/contracts/answer-streams';
import type { Caller } from '@parley/contracts/caller';
import type { ParleyClient } from './parley-client';
import { withDeadline, type Subscription } from './driver';

const liveTimeoutMs = 5_000;
/** Characters after which the sender gets to know how much has arrived. */
const confirmEvery = answerWindow / 4;

/**
 * Receiving side of a streamed answer: a readable stream of its text. It is destroyed with an error when a frame was lost, when
 * the sender fails or is silent, so that the connection of the client ends without a last chunk. Destroying it stops the
 * sender.
 */
export class AnswerReceiver extends Readable {
  private readonly subscription: Subscription;
  private readonly pulse: NodeJS.Timeout;
  private last = 0;
  private received = 0;
  private confirmed = 0;
  private heardAt = Date.now();
  private isStarted = false;
  private isEnded = false;
  private isReading = true;

  constructor(
    private readonly client: ParleyClient,
    private readonly streams: AnswerSubjects,
    private readonly caller: Caller,
    private readonly key: string,
  ) {
    super({ encoding: undefined, highWaterMark: answerWindow });
    this.subscription = client.subscribe(streams.frames, key, (frame) => this.receive(frame), { isKept: true });
    this.pulse = setInterval(() => this.beat(), answerPulseMs).unref();
  }

  /** Resolves when frames can arrive. */
  async ready(): Promise<void> {
    await withDeadline(this.streams.frames.subject, this.subscription.live, liveTimeoutMs);
  }

  /** The answer is streamed: from now on, the sender may not be silent. */
  start(): void {
    this.isStarted = true;
    this.heardAt = Date.now();
  }

  /** Ends the reception without telling the sender: the answer has come in one piece, or none has. */
  dismiss(): void {
    this.isEnded = true;
    this.destroy();
  }

  override _read(): void {
    this.isReading = true;
    if (this.received - this.confirmed >= confirmEvery) this.confirm();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearInterval(this.pulse);
    this.subscription.stop();
    if (!this.isEnded) this.tell({ received: this.received, stop: true });
    callback(error);
  }

  private receive({ number, text, end }: AnswerFrame): void {
    this.heardAt = Date.now();
    if (this.destroyed) return;
    if (number !== this.last + 1) return this.fail('a part of the answer was lost');
    this.last = number;
    if (text !== undefined) {
      this.received += text.length;
      this.isReading = this.push(text);
      if (this.isReading && this.received - this.confirmed >= confirmEvery) this.confirm();
    }
    if (end === undefined) return;
    this.isEnded = true;
    if (end === 'complete') this.push(null);
    else this.fail('the answer broke off');
  }

  private beat(): void {
    if (!this.isStarted || this.isEnded) return;
    if (Date.now() - this.heardAt > answerSilenceMs) this.fail('the service was silent for too long');
    else this.confirm();
  }

  private confirm(): void {
    if (this.isReading) this.confirmed = this.received;
    this.tell({ received: this.confirmed });
  }

  /** A sender that does not answer has ended, or will notice the silence. */
  private tell(control: { received: number; stop?: boolean }): void {
    this.client.callInstance(this.streams.control, this.key, this.caller, control).catch(() => undefined);
  }

  private fail(reason: string): void {
    this.destroy(new Error(`A streamed answer ended early: ${reason}.`));
  }
}
