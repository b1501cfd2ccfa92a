import type { ErrorBody } from '@parley/contracts/errors';
import { files } from '@parley/contracts/files';
import type { Operation } from '@parley/contracts/operation';
import { send } from './operator';
import { readKeptFile } from './kept-file';
import { CommandFailed } from './output';

const setBoth = 'set PARLEY_URL and PARLEY_TOKEN';

/** Calls operations on a bot over HTTP, with the token of an account. */
export class BotClient {
  private constructor(
    private readonly url: string,
    private readonly headers: Record<string, string>,
  ) {}

  /** Uses `PARLEY_URL` and `PARLEY_TOKEN`; where one is absent or empty, credentials.json of the data folder. */
  static find(botId: string): BotClient {
    const { PARLEY_URL, PARLEY_TOKEN } = process.env;
    const kept = () => JSON.parse(readKeptFile('credentials.json', setBoth)) as { url: string; token: string };
    const token = PARLEY_TOKEN || kept().token;
    return new BotClient(PARLEY_URL || kept().url, { authorization: `Bearer ${token}`, 'x-bot-id': botId });
  }

  async call<I extends object, O>(operation: Operation<I, O>, input: I): Promise<O> {
    const response = await send(this.url, operation, input, this.headers);
    const body = (await response.json()) as O | ErrorBody;
    if (!response.ok) throw new CommandFailed((body as ErrorBody).message);
    return body as O;
  }

  /** Text of a file of the bot; undefined when there is none with this key. */
  async read(key: string): Promise<string | undefined> {
    const response = await send(this.url, files.get, { id: key }, this.headers);
    const body = (await response.json()) as { file: { url: string } } | ErrorBody;
    if (response.status === 404) return undefined;
    if (!('file' in body)) throw new CommandFailed(body.message);
    return (await this.content(body.file.url)).text();
  }

  async write(key: string, text: string): Promise<void> {
    const content = Buffer.from(text);
    const contentType = 'application/json';
    const { file } = await this.call(files.upsert, { key, size: content.length, contentType, index: false });
    await this.content(file.uploadUrl, { method: 'PUT', body: content, headers: { 'content-type': contentType } });
  }

  private async content(url: string, init?: RequestInit): Promise<Response> {
    const response = await fetch(url, init);
    if (!response.ok) throw new CommandFailed(`${new URL(url).origin} answered with HTTP status ${response.status}.`);
    return response;
  }
}
