import { answerPulseMs, type AnswerControl } from '@parley/contracts/answer-streams';
import type { Caller } from '@parley/contracts/caller';
import { unavailable } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import type { ParleyClient } from './parley-client';
import { callWatched } from './watched-call';

const caller: Caller = { requestId: 'request', credential: 'bak' };
const operation = { subject: 'models.generate', answers: {} } as Operation<object, string>;

/** A service that has the request, and hears the caller as the test says. */
function setUp() {
  const told: AnswerControl[] = [];
  const service = { isAlive: true, answer: (_text: string) => undefined as void };
  const keys = new Set<string | undefined>();
  const client = {
    call: (_operation: unknown, { answerKey }: Caller) => {
      keys.add(answerKey);
      return new Promise<string>((resolve) => (service.answer = resolve));
    },
    callInstance: (_control: unknown, key: string, _caller: unknown, control: AnswerControl) => {
      keys.add(key);
      told.push(control);
      return service.isAlive ? Promise.resolve({}) : Promise.reject(unavailable('Nobody serves this key.'));
    },
  } as unknown as ParleyClient;
  const stopping = new AbortController();
  const call = callWatched(client, operation, caller, {}, stopping.signal);
  call.catch(() => undefined);
  return { call, told, service, keys, stopping };
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('waits for minutes for a service that answers its pulses', async () => {
  const { call, told, service, keys } = setUp();

  await jest.advanceTimersByTimeAsync(20 * answerPulseMs);
  service.answer('done');

  await expect(call).resolves.toBe('done');
  expect(told).toEqual(Array(20).fill({ received: 0, stop: false }));
  expect(keys.size).toBe(1);
  await jest.advanceTimersByTimeAsync(answerPulseMs);
  expect(told).toHaveLength(20);
});

it('fails with 503 after four pulses in a row without an answer, and not after three', async () => {
  const { call, service } = setUp();
  service.isAlive = false;
  await jest.advanceTimersByTimeAsync(3 * answerPulseMs);
  service.isAlive = true;
  await jest.advanceTimersByTimeAsync(answerPulseMs);
  service.isAlive = false;
  await jest.advanceTimersByTimeAsync(3 * answerPulseMs);
  const early = await Promise.race([call.catch(() => 'failed'), Promise.resolve('under way')]);

  await jest.advanceTimersByTimeAsync(answerPulseMs);

  expect(early).toBe('under way');
  await expect(call).rejects.toMatchObject({ code: 503, message: expect.stringContaining('has ended') as string });
});

it('ends the call at the service when the signal aborts', async () => {
  const { call, told, stopping } = setUp();

  stopping.abort(new Error('stopping'));

  await expect(call).rejects.toThrow('stopping');
  expect(told).toEqual([{ received: 0, stop: true }]);
});
