import { messageRequest } from './conversations';
import { HttpConnection } from './http-connection';
import { type LoadResult, runConcurrently } from './load';
import { markOf } from './sse-connection';

const patienceMs = 10_000;

/** Text of a user's message, whose own frame is not taken for the answer. */
export function toUserText(number: number): string {
  return markOf(number).replaceAll('@', '#');
}

/** Text of the bot's answer to `toUserText`: the marker that streams recognise. */
export function toReplyText(text: string): string {
  return text.replaceAll('#', '@');
}

export interface Speakers {
  url: string;
  path: string;
  headers: Record<string, string>;
  /** Each conversation has one message under way. */
  ids: string[];
}

/** Closed-loop load: in each conversation the next message follows the bot's answer to the previous one. */
export class RoundTrips {
  private sent = 0;
  private readonly waiting = new Map<number, () => void>();

  readonly onMark = (number: number): void => this.waiting.get(number)?.();

  async run({ url, path, headers, ids }: Speakers, seconds: number): Promise<LoadResult> {
    const open = await Promise.all(ids.map(() => HttpConnection.open(url)));
    const speakers = open.map((connection, index) => async () => {
      const number = ++this.sent;
      const answered = this.untilAnswered(number);
      const status = await connection.send(messageRequest(path, headers, ids[index]!, toUserText(number)));
      if (status !== 201) return `answered ${status}`;
      await answered;
      return undefined;
    });
    const result = await runConcurrently(speakers, seconds);
    open.forEach((connection) => connection.close());
    return result;
  }

  private untilAnswered(number: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`The bot's answer did not arrive within ${patienceMs} ms.`)),
        patienceMs,
      );
      this.waiting.set(number, () => {
        clearTimeout(timer);
        resolve();
      });
    }).finally(() => this.waiting.delete(number));
  }
}
