import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorBody } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { operatorToken } from '@parley/secrets/token';

/** What cannot be done, told to the person at the terminal without a stack. */
export class CommandFailed extends Error {}

/** Calls operations as whoever runs the platform, over HTTP, in both run modes. */
export class Operator {
  private constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  /** `PARLEY_URL` and `PARLEY_SECRET_KEY`, or what the embedded mode keeps in its data folder. */
  static find(env: NodeJS.ProcessEnv = process.env): Operator {
    const folder = env['PARLEY_DATA_DIR'] ?? '.parley';
    const url = env['PARLEY_URL'] ?? (JSON.parse(readKept(folder, 'credentials.json')) as { url: string }).url;
    const secretKey = env['PARLEY_SECRET_KEY'] ?? readKept(folder, 'secret.key').trim();
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
    const body: unknown = await response.json();
    if (!response.ok) throw new CommandFailed(`${(body as ErrorBody).type}: ${(body as ErrorBody).message}`);
    return body as O;
  }
}

function readKept(folder: string, name: string): string {
  try {
    return readFileSync(join(folder, name), 'utf8');
  } catch {
    throw new CommandFailed(
      `There is no ${name} in ${folder}: start Parley here once, or set PARLEY_URL and PARLEY_SECRET_KEY.`,
    );
  }
}
