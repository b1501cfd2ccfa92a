import { Client } from '@botpress/client';
import { newToken } from '@parley/secrets/token';
import type { Platform } from '@parley/service/platform';
import {
  type Account,
  type TestResponse,
  type PublicApi,
  type GatewaySettings,
  startPublicApi,
} from '@parley/testing/public-api';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { metricValue } from '@parley/testing/metric-value';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../gateway.module';

/** The window is two seconds. */
const perSecond = 10;
const burst = 20;

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  const gateway = {
    register: (config: GatewaySettings, platform: Platform) =>
      GatewayModule.register({ ...config, rateLimitPerSecond: perSecond, rateLimitBurst: burst }, platform),
  };
  api = await startPublicApi(gateway, AdminModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
  // Makes the tokens known to the limiter. Fake timers: the clock moves only by the tests.
  await Promise.all([ask(alice), ask(bob)]);
  fakeClock('Date', 'setTimeout', 'clearTimeout');
});

beforeEach(() => jest.advanceTimersByTime((burst / perSecond) * 1_000));

afterAll(async () => {
  realClock();
  await api?.stop();
});

const credentials = ({ token }: Pick<Account, 'token'>) => ({ authorization: `Bearer ${token}` });
const ask = (account: Pick<Account, 'token'>) =>
  api.send('GET /v1/admin/account/pats', { headers: credentials(account) });
const times = <T>(count: number, work: () => Promise<T>) => Promise.all(Array.from({ length: count }, work));

const refusals = async () =>
  metricValue((await api.send('GET /metrics')).text, 'parley_rate_limited_total{of="token"}', 0);
const guess = () => ask({ token: newToken('pat') });

const limited = {
  status: 429,
  headers: expect.objectContaining({
    'retry-after': expect.stringMatching(/^[12]$/) as string,
    'ratelimit-limit': '20',
    'ratelimit-remaining': '0',
    'ratelimit-reset': expect.stringMatching(/^[12]$/) as string,
  }) as unknown,
  json: {
    code: 429,
    type: 'RateLimited',
    message: expect.stringMatching(/10 requests per second per (token|address).*Retry after [12] s/) as string,
  },
};

it('sends rate limit headers in each answer, also in errors', async () => {
  const askTwice = async () => [
    await ask(alice),
    await api.send('GET /v1/admin/bots/none', { headers: credentials(alice) }),
  ];
  const left = ({ headers }: TestResponse) => Number(headers['ratelimit-remaining']);

  const answers = await askTwice();

  expect(answers.map(({ status }) => status)).toEqual([200, 404]);
  expect(answers.map(left)).toEqual([burst - 1, burst - 2]);
  const reset = expect.stringMatching(/^[12]$/) as string;
  for (const { headers } of answers)
    expect(headers).toMatchObject({ 'ratelimit-limit': '20', 'ratelimit-reset': reset });
});

it('rejects one tenant over its limit, without effect on others', async () => {
  const [answers, others] = await Promise.all([times(5 * burst, () => ask(alice)), times(burst / 2, () => ask(bob))]);

  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBe(4 * burst);
  refused.forEach((answer) => expect(answer).toMatchObject(limited));
  expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
});

it('limits guessing of tokens, without effect on callers with a token and on the operator', async () => {
  const guesses = await times(5 * burst, guess);
  const others = await ask(alice);
  const operators = await api.newAccount();

  const refused = guesses.filter(({ status }) => status === 429);
  expect(guesses.filter(({ status }) => status === 401).length).toBe(burst);
  expect(refused.length).toBe(4 * burst);
  expect(others.status).toBe(200);
  expect(operators.token).toMatch(/^bp_pat_/);
});

it('limits requests for the documentation by address', async () => {
  await times(burst, guess);

  expect(await api.send('GET /openapi.json')).toMatchObject(limited);
});

describe('the public client', () => {
  const pats = (options: object = {}) =>
    new Client({ apiUrl: api.url, token: alice.token, ...options }).listPersonalAccessTokens({});
  const useUp = () => times(burst, () => ask(alice));

  it('maps the error of the rate limit to RateLimited in the public client', async () => {
    await useUp();

    await expect(pats()).rejects.toMatchObject({
      type: 'RateLimited',
      code: 429,
      message: expect.stringContaining('Retry after') as string,
    });
  });

  it('retries in the public client after the given time and succeeds', async () => {
    await useUp();
    const before = await refusals();

    let isEnded = false;
    const answer = pats({ retry: { retries: 3 } }).finally(() => (isEnded = true));
    await waitFor(async () => (await refusals()) > before);
    await waitFor(() => isEnded || void jest.advanceTimersByTime(100));

    expect(await answer).toMatchObject({ pats: expect.any(Array) as unknown });
    expect(await refusals()).toBe(before + 1);
  });
});
