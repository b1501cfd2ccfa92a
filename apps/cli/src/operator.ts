import type { ErrorBody } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { parseKeyFile } from '@parley/secrets/key-file';
import { operatorToken } from '@parley/secrets/token';
import { CommandFailed } from './output';
import { readKeptFile } from './kept-file';

const setBoth = 'set PARLEY_URL and PARLEY_SECRET_KEY';

/** Calls operations of the platform's operator over HTTP, in both run modes. */
export class Operator {
  private constructor(
    private readonly url: string,
    private readonly token: string,
    /** True when the data folder has a current key and no former one. */
    readonly knowsOneKey: boolean,
  ) {}

  /** Uses `PARLEY_URL` and `PARLEY_SECRET_KEY`; where one is absent or empty, the files of the data folder. */
  static find(): Operator {
    const { PARLEY_URL, PARLEY_SECRET_KEY, PARLEY_FORMER_SECRET_KEYS } = process.env;
    const url = PARLEY_URL || (JSON.parse(readKeptFile('credentials.json', setBoth)) as { url: string }).url;
    const kept = PARLEY_SECRET_KEY ? undefined : parseKeyFile(readKeptFile('secret.key', setBoth));
    const secretKey = PARLEY_SECRET_KEY || kept?.secretKey;
    if (!secretKey) throw new CommandFailed(`No key in secret.key: ${setBoth}.`);
    const knowsOneKey = kept?.formerSecretKeys.length === 0 && !PARLEY_FORMER_SECRET_KEYS;
    return new Operator(url, operatorToken(secretKey), knowsOneKey);
  }

  async call<I extends object, O>(operation: Operation<I, O>, input: I): Promise<O> {
    const response = await this.fetch(operation, input);
    const body: unknown = await response.json().catch(() => {
      throw new CommandFailed(
        `The server at ${this.url} is not Parley (HTTP status ${response.status}): set PARLEY_URL to the address of the gateway.`,
      );
    });
    if (!response.ok) throw failureOf(body);
    return body as O;
  }

  /** Opens a stream of server-sent events. Its caller keeps the response: fetch cancels the unread body of one that is not. */
  async open<I extends object>(operation: Operation<I>, input: I, signal?: AbortSignal): Promise<Response> {
    const response = await this.fetch(operation, input, signal);
    if (!response.ok) throw failureOf(await response.json());
    return response;
  }

  private fetch(operation: { route?: string }, input: object, signal?: AbortSignal): Promise<Response> {
    return send(this.url, operation, input, { authorization: `Bearer ${this.token}` }, signal);
  }

  /** Iterates over the pages of a list operation. */
  async *pages<I extends { nextToken?: string }, O extends { meta: { nextToken?: string } }>(
    operation: Operation<I, O>,
    input: I,
  ): AsyncGenerator<O> {
    let nextToken: string | undefined;
    do {
      const page: O = await this.call(operation, { ...input, limit: 200, nextToken });
      yield page;
      nextToken = page.meta.nextToken;
    } while (nextToken !== undefined);
  }
}

/** Sends the input of an operation with a route. */
export function send(
  url: string,
  { route = '' }: { route?: string },
  input: object,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Response> {
  const [method, path = ''] = route.split(' ');
  const fields = new Map<string, unknown>(Object.entries(input));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(String(fields.get(name))));
  return fetch(`${url}${filled}${method === 'GET' ? queryOf(path, fields) : ''}`, {
    method,
    signal,
    headers: { ...headers, 'content-type': 'application/json' },
    body: method === 'GET' ? undefined : JSON.stringify(input),
  }).catch((error: unknown) => {
    throw new CommandFailed(
      `No answer from ${url}: start Parley first (npm start), or set PARLEY_URL to its address.`,
      {
        cause: error,
      },
    );
  });
}

/** Query string of the fields that are not in the path. */
function queryOf(path: string, fields: Map<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of fields) {
    if (value !== undefined && !path.includes(`{${name}}`)) query.append(name, `${value as string | number}`);
  }
  return query.size > 0 ? `?${query.toString()}` : '';
}

function failureOf(body: unknown): CommandFailed {
  return new CommandFailed(`${(body as ErrorBody).type}: ${(body as ErrorBody).message}`);
}
