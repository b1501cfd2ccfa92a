import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { Logger } from '@nestjs/common';
import { workerFile } from '@parley/background/worker-file';
import { lackingOf } from '@parley/contracts/runner/runner';
import { sealFor } from '@parley/secrets/sealed-box';
import type { Platform } from '@parley/service/platform';
import { Metrics } from '@parley/service/metrics';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { makeCertificate } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { CodeService } from '../code/code.service';
import { RunnerConfig } from '../config';
import type { LogSenderService } from '../logs/log-sender.service';
import { type BotChild, CodePaused } from './bot-child';
import { ChildrenService } from './children.service';
import { isolate } from './isolation';
import type { IsolationService } from './isolation.service';

const program = workerFile(join(__dirname, '../host'), 'host.child');
const answering = 'exports.handler = () => ({ status: 200 });';

let service: ChildrenService;
let code: CodeService;
/** Processes start once it is resolved. */
let held: Promise<void>;
let release: () => void;
let starts: number;

beforeAll(() => Logger.overrideLogger(false));

beforeEach(() => {
  code = new CodeService();
  held = Promise.resolve();
  starts = 0;
  service = serviceWith({ allowPrivate: 'true' });
});

function serviceWith(config: Partial<RunnerConfig>): ChildrenService {
  const output = { begin: () => undefined, take: () => undefined, end: () => undefined };
  const isolation = {
    isolate: async (place: number) => {
      await held;
      starts += 1;
      return isolate('process', program, place);
    },
  };
  return new ChildrenService(
    code,
    { outputOf: () => output } as unknown as LogSenderService,
    Object.assign(new RunnerConfig(), { processes: 4, memoryMb: 96, ...config }),
    isolation as unknown as IsolationService,
    { metrics: new Metrics() } as Platform,
  );
}

afterEach(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  release?.();
  await service.onApplicationShutdown();
});

/** Holds the processes that start from now on. */
function hold(): void {
  const { promise, resolve } = Promise.withResolvers<void>();
  [held, release] = [promise, resolve];
}

const bundleOf = (ownerId: string, codeRevision = '1') => ({ owner: 'bot' as const, ownerId, codeRevision });

/** Bundle of which the runner has the code, with secrets. */
function prepared(ownerId: string, text = answering, codeRevision = '1') {
  const bundle = bundleOf(ownerId, codeRevision);
  code.put({ ...bundle, offset: 0, text });
  const { publicKey } = lackingOf(thrownBy(() => code.programOf(bundle)))!;
  const secrets = JSON.stringify({ token: 'key', secrets: {} });
  return { ...bundle, sealed: [sealFor(publicKey, { ownerId, revision: codeRevision }, secrets)] };
}

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

const pidOf = (child: BotChild) => Promise.resolve(child.pid);
const use = (ownerId: string, text?: string) => service.use(prepared(ownerId, text), pidOf);
const request = { method: 'POST', path: '/', query: '', headers: {}, body: '{}' };
const frame = { request, apiHeaders: {}, functionName: 'bot', functionVersion: '1', memoryMb: 96, timeoutMs: 60_000 };
const check = (text: string) => service.tryLoad({ owner: 'bot', code: text, secrets: {} });

it('gives code the proxy of the platform, and the authorities of NODE_EXTRA_CA_CERTS', async () => {
  const proxy = await LoopbackServer.start(json({ from: 'the proxy' }));
  const folder = await mkdtemp(join(tmpdir(), 'parley-children-'));
  const path = makeCertificate(folder);
  const authorities = path ? [await readFile(path, 'utf8')] : [];
  jest.spyOn(tls, 'getCACertificates').mockReturnValue(authorities);
  const [publicUrl, contentUrl] = ['http://127.0.0.1:1', 'http://127.0.0.1:2'];
  service = serviceWith({ publicUrl, contentUrl, httpProxy: proxy.url });
  const text = `
    const authorities = ${JSON.stringify(authorities.map((text) => text.trim()))};
    const known = require('tls').getCACertificates().map((text) => text.trim());
    const answer = async () => [authorities.every((text) => known.includes(text)), await (await fetch('http://site.example')).json()];
    exports.handler = async () => ({ body: await answer() });`;

  const { body } = await service.use(prepared('proxied', text), (child) => child.invoke(frame, () => undefined));

  await Promise.all([proxy.close(), rm(folder, { recursive: true })]);
  expect(JSON.parse(body)).toEqual([true, { from: 'the proxy' }]);
});

it('lets a load go on that its callers no longer wait for, and those that come later use it', async () => {
  hold();
  jest.useFakeTimers();
  const failed = expect(use('slow')).rejects.toMatchObject({
    failure: 'not started',
    message: 'The code has not loaded within 12 s so far.',
  });
  await jest.advanceTimersByTimeAsync(12_000);
  await failed;
  jest.useRealTimers();

  release();

  expect(await use('slow')).toBeGreaterThan(0);
  expect(starts).toBe(1);
});

it('refuses code that is not deployed while other code loads slowly, and starts deployed code', async () => {
  hold();
  jest.useFakeTimers();
  const slow = use('slow');
  await jest.advanceTimersByTimeAsync(4_000);

  expect(service.canTryLoad).toBe(false);
  await expect(check(answering)).rejects.toMatchObject({ failure: 'busy' });
  jest.useRealTimers();

  held = Promise.resolve();
  expect(await use('deployed')).toBeGreaterThan(0);
  release();
  await slow;
  expect(service.canTryLoad).toBe(true);
  await check(answering);
});

it('ends the starts that are under way when the runner stops, and starts no process', async () => {
  const left = expect(use('slow')).rejects.toMatchObject({ failure: 'away', message: 'The runner is stopping.' });
  const refused = expect(service.use(bundleOf('unprepared'), pidOf)).rejects.toThrow('lacks');

  await service.onApplicationShutdown();

  await Promise.all([left, refused]);
  expect(starts).toBe(0);
  expect(service.freePlaces).toBe(4);
});

it('keeps a place for ten seconds for a call that lacks code and secrets, and starts one process with them', async () => {
  const call = (bundle: Parameters<typeof service.use>[0]) => service.use(bundle, pidOf);
  const both = { metadata: { runner: 'unprepared', lacks: ['code', 'secrets'] } };
  jest.useFakeTimers();
  await expect(call(bundleOf('bot'))).rejects.toMatchObject(both);
  await expect(call(bundleOf('bot'))).rejects.toMatchObject(both);
  expect(service.freePlaces).toBe(3);
  await jest.advanceTimersByTimeAsync(9_999);
  expect([service.freePlaces, service.canTryLoad]).toEqual([3, true]);
  await jest.advanceTimersByTimeAsync(1);
  expect(service.freePlaces).toBe(4);
  jest.useRealTimers();

  await expect(call(bundleOf('bot'))).rejects.toMatchObject(both);
  const { sealed, ...without } = prepared('bot');
  await expect(call(without)).rejects.toMatchObject({ metadata: { lacks: ['secrets'] } });
  const pids = await Promise.all([call({ ...without, sealed }), call({ ...without, sealed }), call(without)]);

  expect(new Set(pids).size).toBe(1);
  expect(starts).toBe(1);
});

it('counts a process that loads as a place that is taken', async () => {
  hold();
  const loading = use('one');
  expect(service.freePlaces).toBe(3);
  expect(service.canTryLoad).toBe(true);

  release();
  await loading;

  expect(service.freePlaces).toBe(4);
});

it('ends the process of former code after its last call, and keeps that of newer code', async () => {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const children: BotChild[] = [];
  const run = (codeRevision: string, work: Promise<unknown>) =>
    service.use(prepared('bot', answering, codeRevision), (child) => {
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
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const hold = async (bot: string) => {
    let child!: BotChild;
    const call = service.use(prepared(bot), (used) => {
      child = used;
      return ended;
    });
    await waitFor(() => child !== undefined);
    return { child, call };
  };
  const used = await hold('used');
  const idle: BotChild[] = [];
  for (const bot of ['idle longest', 'idle'])
    await service.use(prepared(bot), async (child) => {
      await child.invoke(frame, () => undefined);
      idle.push(child);
    });
  const again = await hold('in use again');

  const others = [await hold('new')];
  await idle[0]!.ended;
  expect([used.child.isAlive, idle[1]!.isAlive, again.child.isAlive]).toEqual([true, true, true]);
  others.push(await hold('newest'));
  await idle[1]!.ended;

  await expect(service.use(bundleOf('one more'), pidOf)).rejects.toMatchObject({ failure: 'busy' });
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
    const failure = () => use('broken', 'process.exit(1)').catch((error: unknown) => error);
    for (let start = 0; start < 4; start += 1) {
      if (start > 0) passedMs += apartMs;
      expect(await failure()).not.toBeInstanceOf(CodePaused);
    }

    expect((await failure()) instanceof CodePaused).toBe(isPaused);
  },
);
