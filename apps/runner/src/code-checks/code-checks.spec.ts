import { Logger } from '@nestjs/common';
import { yieldToEventLoop } from '@parley/background/yield-to-event-loop';
import type { Caller } from '@parley/contracts/caller';
import type { LoadCode, RunnerFailure } from '@parley/contracts/runner/runner';
import { CodeFailed } from '../children/bot-child';
import type { ChildrenService } from '../children/children.service';
import { CodeChecksService } from './code-checks.service';

/** Loads of the processes, as the test ends them. */
let loads: { code: string; end: (failure?: Error) => void }[];
let children: { canTryLoad: boolean; tryLoad(input: LoadCode): Promise<void> };
let service: CodeChecksService;

beforeAll(() => Logger.overrideLogger(false));

beforeEach(() => {
  loads = [];
  children = {
    canTryLoad: true,
    tryLoad: ({ code }) =>
      new Promise((resolve, reject) => loads.push({ code, end: (failure) => (failure ? reject(failure) : resolve()) })),
  };
  service = new CodeChecksService(children as ChildrenService);
});

afterEach(() => jest.useRealTimers());

function check(workspaceId: string, code = workspaceId) {
  const caller = { requestId: 'req', workspace: { id: workspaceId } } as Caller;
  return service.run(caller, { owner: 'bot', code, secrets: {} });
}

const loaded = () => loads.map(({ code }) => code);

/** The load with this index, once it has begun. */
async function load(index: number) {
  for (let turn = 0; turn < 10 && !loads[index]; turn += 1) await Promise.resolve();
  return loads[index]!;
}

it('finds no failure of code that loads', async () => {
  const checked = check('one');
  (await load(0)).end();

  expect(await checked).toEqual({ failure: null });
});

it.each<RunnerFailure>(['not loadable', 'failed', 'crashed', 'out of memory'])(
  'tells why code is refused whose load is "%s"',
  async (failure) => {
    const checked = check('one');
    (await load(0)).end(new CodeFailed(failure, 'The code throws.'));

    expect(await checked).toEqual({ failure: 'The code throws.' });
  },
);

it.each<RunnerFailure>(['busy', 'away', 'not started'])(
  'finds no failure of code whose load is "%s", which is not its fault',
  async (failure) => {
    const checked = check('one');
    (await load(0)).end(new CodeFailed(failure, 'The machine is too busy.'));

    expect(await checked).toEqual({ failure: null });
  },
);

it('throws errors of the platform itself', async () => {
  const checked = check('one');
  (await load(0)).end(new TypeError('broken'));

  await expect(checked).rejects.toThrow('broken');
});

it('loads two bundles of a workspace at once, and leaves the other places to other workspaces', async () => {
  const checked = ['a1', 'a2', 'a3'].map((code) => check('a', code));
  checked.push(check('b'));
  await load(2);
  expect(loaded()).toEqual(['a1', 'a2', 'b']);

  loads[0]!.end();
  await load(3);
  loads.slice(1).forEach(({ end }) => end());

  expect(loaded()).toEqual(['a1', 'a2', 'b', 'a3']);
  expect(await Promise.all(checked)).toEqual(Array(4).fill({ failure: null }));
});

it('waits for a place of the runner before it loads code', async () => {
  children.canTryLoad = false;
  jest.useFakeTimers();
  const checked = check('one');
  await jest.advanceTimersByTimeAsync(10_000);
  expect(loads).toEqual([]);

  children.canTryLoad = true;
  await jest.advanceTimersByTimeAsync(1_000);
  loads[0]!.end(new CodeFailed('not loadable', 'The code throws.'));

  expect(await checked).toEqual({ failure: 'The code throws.' });
});

it('finds no failure after 15 s without a place, and loads the code no more', async () => {
  children.canTryLoad = false;
  jest.useFakeTimers();
  const checked = check('one');

  await jest.advanceTimersByTimeAsync(15_000);

  expect(await checked).toEqual({ failure: null });
  children.canTryLoad = true;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(loads).toEqual([]);
});

it('finds no failure of code that loads for 15 s, and gives its place away when the load ends', async () => {
  jest.useFakeTimers();
  const slow = ['a1', 'a2'].map((code) => check('a', code));
  await jest.advanceTimersByTimeAsync(15_000);
  expect(await Promise.all(slow)).toEqual([{ failure: null }, { failure: null }]);

  const next = check('a', 'a3');
  await jest.advanceTimersByTimeAsync(1_000);
  expect(loaded()).toEqual(['a1', 'a2']);
  loads[0]!.end();
  await jest.advanceTimersByTimeAsync(0);
  loads[2]!.end();

  expect(await next).toEqual({ failure: null });
});

it('starts no load once the runner stops, and answers those that run', async () => {
  children.canTryLoad = false;
  const waiting = check('one');
  await yieldToEventLoop();
  children.canTryLoad = true;
  const running = check('two');
  await load(0);

  service.onModuleDestroy();

  expect(await waiting).toEqual({ failure: null });
  expect(await check('three')).toEqual({ failure: null });
  loads[0]!.end(new CodeFailed('not loadable', 'The code throws.'));
  expect(await running).toEqual({ failure: 'The code throws.' });
  expect(loaded()).toEqual(['two']);
});
