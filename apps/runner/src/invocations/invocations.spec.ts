import type { CodeAnswer, InvokeCode } from '@parley/contracts/runner/runner';
import { Metrics } from '@parley/service/metrics';
import { cacheClock } from '@parley/testing/cache-clock';
import { CallNotBegun, CodeFailed } from '../children/bot-child';
import { RunnerConfig } from '../config';
import { InvocationsService } from './invocations.service';

const answered = { status: 200, headers: {}, body: '' } as CodeAnswer;
const notBegun = () => new CallNotBegun('crashed', 'The process ended before the call began.');

/** Calls with these outcomes, each after so many milliseconds. Returns the time limit of each. */
async function invoke(timeoutMs: number, outcomes: { afterMs: number; outcome: CodeAnswer | Error }[]) {
  const { pass } = cacheClock();
  const limits: number[] = [];
  const child = {
    invoke: (frame: { timeoutMs: number }) => {
      const { afterMs, outcome } = outcomes[limits.length]!;
      limits.push(frame.timeoutMs);
      pass(afterMs);
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    },
  };
  const children = { use: (_bundle: unknown, call: (...of: unknown[]) => unknown) => call(child, { end: () => {} }) };
  const platform = { metrics: new Metrics() };
  const none = {} as never;
  const service = new InvocationsService(children as never, none, new RunnerConfig(), none, none, platform as never);
  const outcome = await service['invoke']({ timeoutMs, headers: {} } as InvokeCode).catch((error: unknown) => error);
  return { limits, outcome };
}

afterEach(() => void jest.restoreAllMocks());

it('repeats a call that did not begin once, within the time that is left of its limit', async () => {
  const { limits, outcome } = await invoke(10_000, [
    { afterMs: 4_000, outcome: notBegun() },
    { afterMs: 1, outcome: answered },
  ]);

  expect(outcome).toBe(answered);
  expect(limits).toEqual([10_000, 6_000]);
});

it.each([
  [
    'did not begin the second time',
    [
      { afterMs: 1, outcome: notBegun() },
      { afterMs: 1, outcome: notBegun() },
    ],
    2,
  ],
  ['did not begin within its limit', [{ afterMs: 10_000, outcome: notBegun() }], 1],
  ['began', [{ afterMs: 1, outcome: new CodeFailed('crashed', 'The process ended.') }], 1],
])('does not repeat a call that %s', async (_what, outcomes, count) => {
  const { limits, outcome } = await invoke(10_000, outcomes);

  expect(outcome).toMatchObject({ message: expect.stringMatching(/^The process ended/) as string });
  expect(limits).toHaveLength(count);
});
