import type { LogLine } from '@parley/contracts/runtime/logs';
import { LogWriter } from '@parley/testing/log-writer';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../../../runtime/src/config';
import { RuntimeModule } from '../../../runtime/src/runtime.module';
import { Operator } from '../operator';
import { runCommand } from '../program';
import { LinePrinter } from './logs';

const environment = { ...process.env };

let api: PublicApi;
let account: Account;

const runtime = new LogWriter(RuntimeModule);

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule, configured(runtime, RuntimeConfig));
  account = await api.newAccount();
  process.env['PARLEY_URL'] = api.url;
  process.env['PARLEY_SECRET_KEY'] = api.settings.secretKey;
});

afterAll(async () => {
  process.env = environment;
  await api?.stop();
});

async function newBot() {
  const { id } = (await account.client.createBot({})).bot;
  const write = (...lines: Partial<LogLine>[]) => runtime.write(id, lines);
  return { id, write };
}

async function run(...line: string[]) {
  const outcome = { out: '', err: '' };
  const status = await runCommand(
    line,
    (text) => (outcome.out += text),
    (text) => (outcome.err += text),
  );
  return { status, ...outcome };
}

it('prints the lines of a bot, oldest first, with time and level', async () => {
  const bot = await newBot();
  const [one, two] = await bot.write({ message: 'one' }, { message: 'two\n  more', level: 'error' });

  expect(await run('logs', bot.id)).toEqual({
    status: 0,
    err: '',
    out: `${one!.timestamp} INFO  one\n${two!.timestamp} ERROR two\n  more\n`,
  });
});

it('prints only log lines that the options ask for', async () => {
  const bot = await newBot();
  const [, two] = await bot.write(
    { message: 'a fox', level: 'warn' },
    { message: 'a hen', level: 'warn', conversationId: 'conv_1' },
  );
  const texts = async (...options: string[]) =>
    (await run('logs', bot.id, ...options)).out.split('\n').flatMap((line) => (line ? [line.slice(31)] : []));

  expect(await texts('--level', 'info')).toEqual([]);
  expect(await texts('--contains', 'FOX')).toEqual(['a fox']);
  expect(await texts('--conversation', 'conv_1')).toEqual(['a hen']);
  expect(await texts('--since', two!.timestamp)).toEqual(['a hen']);
});

it.each([
  [['no-id'], 1, 'Bot "no-id" not found: a bot id is a UUID.'],
  [['00000000-0000-4000-8000-000000000000', '--level', 'loud'], 2, 'Allowed choices are debug, info, warn, error'],
  [['00000000-0000-4000-8000-000000000000', '--since', 'noon'], 1, 'timeStart must be a time such as'],
])('refuses the log options %j', async (words, status, message) => {
  expect(await run('logs', ...words)).toMatchObject({ status, out: '', err: expect.stringContaining(message) });
});

it('says that it shows the newest 1,000 lines of more', async () => {
  const bot = await newBot();
  for (const part of [1, 2, 3]) await bot.write(...Array(400).fill({ message: `part ${part}` }));

  const { out, err } = await run('logs', bot.id);

  expect(err).toBe('Only the newest 1000 lines are shown.\n');
  expect(out.trim().split('\n')).toHaveLength(1_000);
});

it('prints existing log lines, then each new line once', async () => {
  const bot = await newBot();
  await bot.write({ message: 'before' }, { message: 'quiet', level: 'debug' });
  let out = '';
  const stop = new AbortController();
  const printer = new LinePrinter(bot.id, { level: 'info' }, Operator.find(), {
    out: (text) => (out += text),
    err: () => undefined,
  });

  const following = printer.follow(new Date(Date.now() - 3_600_000).toISOString(), stop.signal);
  await waitFor(() => out.includes('before'));
  const [line] = await bot.write({ message: 'after' }, { message: 'also quiet', level: 'debug' });
  await waitFor(() => out.includes('after'));
  await bot.write(line!, { message: 'last' });
  await waitFor(() => out.includes('last'));
  stop.abort();
  await following;

  expect(out.match(/before|after|last|quiet/g)).toEqual(['before', 'after', 'last']);
});
