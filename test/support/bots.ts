import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientInputs } from '@botpress/client';
import { freePort } from '@parley/testing/free-port';
import { bundleAsCli } from '@parley/testing/bot-bundle';
import type { Effect } from '../bots/effects';

/** Generations of `@botpress/sdk`: 0.10.10 and 5.4.3. */
export type Sdk = '0.10' | '5';
export type BotName = 'echo' | 'acting' | 'failing' | 'recurring' | 'expiry' | 'workflow';

export const sdks: Sdk[] = ['0.10', '5'];

const sources = join(__dirname, '../bots');
const packages: Record<Sdk, string> = { '0.10': '@botpress/sdk', '5': 'botpress-sdk-5' };

/**
 * Path of the bot's code as the CLI bundles it: one CommonJS file with everything included. The temporary folder keeps the
 * bundles, by hash of the sources and the version of the SDK.
 */
export async function bundleBot(name: BotName | 'handover' | 'desk', sdk: Sdk): Promise<string> {
  const folder = join(tmpdir(), 'parley-test-bots');
  const bundle = join(folder, `${name}-${sdk}-${await sourceHash(sdk)}.cjs`);
  if (await isFile(bundle)) return bundle;

  const code = await bundleAsCli(`./sdk-${sdk}/${name}`, sources);
  // Renamed into place, because other workers may read or write the same bundle.
  const draft = `${bundle}.${randomUUID()}`;
  await mkdir(folder, { recursive: true });
  await writeFile(draft, code);
  await rename(draft, bundle);
  return bundle;
}

async function sourceHash(sdk: Sdk): Promise<string> {
  const hash = createHash('sha256').update(await readFile(require.resolve(`${packages[sdk]}/package.json`)));
  const files = (await readdir(sources, { recursive: true })).filter((file) => file.endsWith('.ts')).sort();
  for (const file of files) hash.update(file).update(await readFile(join(sources, file)));
  return hash.digest('hex').slice(0, 16);
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

const script = `
  process.on('disconnect', () => process.exit());
  require(process.argv[1])
    .default.start(Number(process.argv[2]))
    .then((server) => (server.listening ? process.send('listening') : server.on('listening', () => process.send('listening'))));
`;

export interface BotOptions {
  apiUrl: string;
  token: string;
  /** Default: a free one. */
  port?: number;
  /** Give the file of an earlier process to go on with its effects. Default: a new file. */
  effectsFile?: string;
  /** The echo bot reads `BOT_DELAY_MS`, the duration of each message, and `BOT_IS_SILENT`: `true` for no answers. */
  env?: Record<string, string>;
}

/** Process of a bot, which serves it by its own `start(port)`. It ends with the process that started it. */
export class ServedBot {
  readonly url: string;
  readonly pid: number;
  /** Exit code, or null after a signal. */
  readonly ended: Promise<number | null>;
  private text = '';

  constructor(
    private readonly child: ChildProcess,
    readonly port: number,
    readonly effectsFile: string,
  ) {
    this.url = `http://127.0.0.1:${port}`;
    this.pid = child.pid!;
    this.ended = once(child, 'exit').then(([code]) => code as number | null);
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (data: Buffer) => (this.text += data.toString()));
  }

  /** Standard output and standard error until now. */
  get output(): string {
    return this.text;
  }

  /** Calls of handlers until now, in order. */
  async effects(): Promise<Effect[]> {
    const lines = (await readFile(this.effectsFile, 'utf8')).split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Effect);
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.ended;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}

export async function serveBot(bundle: string, options: BotOptions): Promise<ServedBot> {
  const port = options.port ?? (await freePort());
  const effectsFile = options.effectsFile ?? join(tmpdir(), `parley-effects-${randomUUID()}.jsonl`);
  await writeFile(effectsFile, '', { flag: 'a' });
  const child = spawn(process.execPath, ['-e', script, bundle, String(port)], {
    env: { BP_API_URL: options.apiUrl, BP_TOKEN: options.token, BOT_EFFECTS: effectsFile, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const bot = new ServedBot(child, port, effectsFile);
  const isReady = await Promise.race([once(child, 'message').then(() => true), bot.ended.then(() => false)]);
  if (!isReady) throw new Error(`The bot ended before it listened:\n${bot.output}`);
  return bot;
}

const object = (properties: Record<string, object>) => ({ type: 'object' as const, properties });

const definitions = {
  echo: {},
  acting: {
    actions: {
      add: {
        input: { schema: object({ a: { type: 'number' }, b: { type: 'number' } }) },
        output: { schema: object({ sum: { type: 'number' } }) },
      },
      tablesRecomputeRows: { input: { schema: object({}) }, output: { schema: object({}) } },
    },
  },
  failing: {},
  recurring: {
    events: { tick: { schema: object({ fails: { type: 'boolean' } }) } },
    recurringEvents: { ticks: { type: 'tick', payload: { fails: false }, schedule: { cron: '* * * * *' } } },
  },
  expiry: { states: { reminder: { type: 'conversation' as const, schema: object({ text: { type: 'string' } }) } } },
  workflow: { events: { wake: { schema: object({}) } } },
} satisfies Record<BotName, ClientInputs['createBot']>;

/** Fields of `createBot` and `updateBot` that the bot needs. */
export function definitionOf<N extends BotName>(name: N): (typeof definitions)[N] {
  return definitions[name];
}
