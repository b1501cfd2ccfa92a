import type { ErrorBody } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { operatorToken } from '@parley/secrets/token';
import { CommandFailed } from './command-failed';
import { readKeptFile } from './kept-file';

const setBoth = 'set PARLEY_URL and PARLEY_SECRET_KEY';

/** Calls operations as whoever runs the platform, over HTTP, in both run modes. */
export class Operator {
  private constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  /** `PARLEY_URL` and `PARLEY_SECRET_KEY`, or what the embedded mode keeps in its data folder. */
  static find(): Operator {
    const { PARLEY_URL, PARLEY_SECRET_KEY } = process.env;
    const url = PARLEY_URL ?? (JSON.parse(readKeptFile('credentials.json', setBoth)) as { url: string }).url;
    const secretKey = PARLEY_SECRET_KEY ?? readKeptFile('secret.key', setBoth).trim();
    return new Operator(url, operatorToken(secretKey));
  }

  async call<I extends object, O>(operation: Operation<I, O>, input: I): Promise<O> {
    const [method, path] = (operation.route ?? '').split(' ');
    const fields = new Map<string, unknown>(Object.entries(input));
    const filled = (path ?? '').replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
      encodeURIComponent(String(fields.get(name))),
    );
    const response = await fetch(`${this.url}${filled}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      body: method === 'GET' ? undefined : JSON.stringify(input),
    }).catch((error: unknown) => {
      throw new CommandFailed(`Nothing answers at ${this.url}: start Parley first (npm start). ${String(error)}`);
    });
    const body: unknown = await response.json().catch(() => {
      throw new CommandFailed(
        `What answers at ${this.url} is not Parley (${response.status}): set PARLEY_URL to its address.`,
      );
    });
    if (!response.ok) throw new CommandFailed(`${(body as ErrorBody).type}: ${(body as ErrorBody).message}`);
    return body as O;
  }
}
