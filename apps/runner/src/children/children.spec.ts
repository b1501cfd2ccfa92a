import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { workerFile } from '@parley/background/worker-file';
import type { Platform } from '@parley/service/platform';
import { Metrics } from '@parley/service/metrics';
import { waitFor } from '@parley/testing/wait-for';
import type { CodeService } from '../code/code.service';
import { RunnerConfig } from '../config';
import type { LogSenderService } from '../logs/log-sender.service';
import { type BotChild, CodePaused } from './bot-child';
import { ChildrenService } from './children.service';
import { isolate } from './isolation';
import type { IsolationService } from './isolation.service';

const program = workerFile(join(__dirname, '../host'), 'host.child');
const answering = 'exports.handler = () => ({ status: 200 });';

interface HandedOver {
  promise: Promise<string>;
  resolve: (code: string) => void;
  reject: (error: Error) => void;
}

let service: ChildrenService;
/** Code of each bot, as the test hands it over. */
let codes: Map<string, HandedOver>;
let starts: number;

beforeAll(() => Logger.overrideLogger(false));

beforeEach(() => {
  codes = new Map();
  starts = 0;
  const code = {
    getCode: ({ ownerId }: { ownerId: string }) => handedOver(ownerId).promise,
    getSecrets: () => Promise.resolve({ secrets: {}, token: 'key' }),
  };
  const output = { begin: () => undefined, take: () => undefined, end: () => undefined };
  const isolation = {
    isolate: (place: number) => {
      starts += 1;
      return isolate('process', program, place);
    },
  };
  service = new ChildrenService(
    code as unknown as CodeService,
    { outputOf: () => output } as unknown as LogSenderService,
    Object.assign(new RunnerConfig(), { processes: 4, memoryMb: 96, allowPrivate: 'true' }),
    isolation as unknown as IsolationService,
    { metrics: new Metrics() } as Platform,
  );
});

afterEach(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  for (const { reject } of codes.values()) reject(new Error('the test has ended'));
  await service.onApplicationShutdown();
});

function handedOver(botId: string): HandedOver {
  const known = codes.get(botId);
  if (known) return known;
  const code = {} as HandedOver;
  code.promise = new Promise((resolve, reject) => Object.assign(code, { resolve, reject }));
  codes.set(botId, code);
  return code;
}

const pidOf = (child: BotChild) => Promise.resolve(child.pid);
const use = (ownerId: string) => service.use({ owner: 'bot', ownerId, codeRevision: '1', ticket: 'ticket' }, pidOf);
const request = { method: 'POST', path: '/', query: '', headers: {}, body: '{}' };
const frame = { request, apiHeaders: {}, functionName: 'bot', functionVersion: '1', memoryMb: 96, timeoutMs: 60_000 };
const check = (code: string) => service.tryLoad({ owner: 'bot', code, secrets: {} });

it('lets a load go on that its callers no longer wait for, and those that come later use it', async () => {
  jest.useFakeTimers();
  const failed = expect(use('slow')).rejects.toMatchObject({
    failure: 'not started',
    message: 'The code has not loaded within 12 s so far.',
  });
  await jest.advanceTimersByTimeAsync(12_000);
  await failed;
  jest.useRealTimers();

  handedOver('slow').resolve(answering);

  expect(await use('slow')).toBeGreaterThan(0);
  expect(starts).toBe(1);
});

it('refuses code that is not deployed while other code loads slowly, and starts deployed code', async () => {
  jest.useFakeTimers();
  const slow = use('slow');
  await jest.advanceTimersByTimeAsync(4_000);

  expect(service.canTryLoad).toBe(false);
  await expect(check(answering)).rejects.toMatchObject({ failure: 'busy' });
  jest.useRealTimers();

  handedOver('deployed').resolve(answering);
  expect(await use('deployed')).toBeGreaterThan(0);
  handedOver('slow').resolve(answering);
  await slow;
  expect(service.canTryLoad).toBe(true);
  await check(answering);
});

it('ends the starts that are under way when the runner stops, and starts no process', async () => {
  const left = expect(use('slow')).rejects.toMatchObject({ failure: 'away', message: 'The runner is stopping.' });

  const stopped = service.onApplicationShutdown();
  handedOver('slow').resolve(answering);
  await stopped;

  await left;
  expect(starts).toBe(0);
});

it('counts a process that loads as a place that is taken', async () => {
  const loading = use('one');
  expect(service.freePlaces).toBe(3);
  expect(service.canTryLoad).toBe(true);

  handedOver('one').resolve(answering);
  await loading;

  expect(service.freePlaces).toBe(4);
});

it('ends the process of former code after its last call, and keeps that of newer code', async () => {
  handedOver('bot').resolve(answering);
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const children: BotChild[] = [];
  const run = (codeRevision: string, work: Promise<unknown>) =>
    service.use({ owner: 'bot', ownerId: 'bot', codeRevision, ticket: 'ticket' }, (child) => {
      children.push(child);
      return work;
    });
  const former = run('1', ended);
  await waitFor(() => children.length === 1);

  await run('2', Promise.resolve());
  expect(children.map(({ isAlive }) => isAlive)).toEqual([true, true]);
  end();
  await former;
  await children[0]!.ended;

  expect(children[1]!.isAlive).toBe(true);
  await run('2', Promise.resolve());
  expect(children[2]).toBe(children[1]);
});

it('ends the process that was idle for longest when others need its place, and none that is in use', async () => {
  const bots = ['used', 'idle longest', 'idle', 'in use again', 'new', 'newest'];
  for (const bot of bots) handedOver(bot).resolve(answering);
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const bundle = (ownerId: string) => ({ owner: 'bot' as const, ownerId, codeRevision: '1', ticket: 'ticket' });
  const hold = async (bot: string) => {
    let child!: BotChild;
    const call = service.use(bundle(bot), (used) => {
      child = used;
      return ended;
    });
    await waitFor(() => child !== undefined);
    return { child, call };
  };
  const used = await hold('used');
  const idle: BotChild[] = [];
  for (const bot of ['idle longest', 'idle'])
    await service.use(bundle(bot), async (child) => {
      await child.invoke(frame, () => undefined);
      idle.push(child);
    });
  const again = await hold('in use again');

  const others = [await hold('new')];
  await idle[0]!.ended;
  expect([used.child.isAlive, idle[1]!.isAlive, again.child.isAlive]).toEqual([true, true, true]);
  others.push(await hold('newest'));
  await idle[1]!.ended;

  await expect(use('one more')).rejects.toMatchObject({ failure: 'busy' });
  expect([used, again, ...others].map(({ child }) => child.isAlive)).toEqual([true, true, true, true]);
  end();
  await Promise.all([used, again, ...others].map(({ call }) => call));
});

it.each([
  ['80 s', 80_000, true],
  ['91 s', 91_000, false],
])(
  'pauses code after its fourth failed start in a row, each less than 90 s after the one before: %s',
  async (_apart, apartMs, isPaused) => {
    let passedMs = 0;
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
    handedOver('broken').resolve('process.exit(1)');
    const failure = () => use('broken').catch((error: unknown) => error);
    for (let start = 0; start < 4; start += 1) {
      if (start > 0) passedMs += apartMs;
      expect(await failure()).not.toBeInstanceOf(CodePaused);
    }

    expect((await failure()) instanceof CodePaused).toBe(isPaused);
  },
);
