import { newToken } from '@parley/secrets/token';
import { createLogger } from '@parley/logging/logger';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import { metricValue } from '@parley/testing/metric-value';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayConfig } from '../config';
import { boundedKey, RateLimiter, type Sender } from './rate.limiter';

const burst = 3;
let metrics: Metrics;

function limitsOf(rateLimitPerSecond: number, rateLimitBurst = burst): RateLimiter {
  metrics = new Metrics();
  const platform = { metrics, logger: createLogger('test', 'silent') } as Platform;
  return new RateLimiter(Object.assign(new GatewayConfig(), { rateLimitPerSecond, rateLimitBurst }), platform);
}

const home = { address: '10.0.0.1' };
const bot = { ...home, actor: 'bot' } as const;
const user = { ...home, actor: 'chat-user' } as const;
const visitor = { ...home, actor: 'chat-visitor' } as const;
const operator = { ...home, actor: 'operator' } as const;
const [one, other] = [newToken('bak'), newToken('pat')];
const key = newToken('operator');
const ignored = { header: () => undefined };

async function confirmCredential(limits: RateLimiter, sender: Sender): Promise<void> {
  (await limits.count(sender, ignored))();
}

/** Number of accepted requests out of twice the limit. */
async function passing(limits: RateLimiter, sender: (number: number) => Sender): Promise<number> {
  const asked = Array.from({ length: 2 * burst }, (_, number) => limits.count(sender(number), ignored));
  return (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled').length;
}

async function namesCounted(): Promise<number> {
  return metricValue(await metrics.registry.metrics(), 'parley_rate_limit_names');
}

describe('a rate limit', () => {
  it.each<[string, Sender[], (number: number) => Sender]>([
    ['of a token', [{ ...bot, token: one }], (number) => ({ ...bot, token: one, address: `10.0.1.${number}` })],
    [
      'of a user key',
      [{ ...user, userKey: 'a' }],
      (number) => ({ ...user, userKey: 'a', address: `10.0.1.${number}` }),
    ],
    ['of a long user key', [{ ...user, userKey: 'a'.repeat(9_000) }], () => ({ ...user, userKey: 'a'.repeat(9_000) })],
    ['without a token', [], () => bot],
    ['with unknown tokens', [], (number) => ({ ...bot, token: `${one}${number}` })],
    ['with unknown user keys', [], (number) => ({ ...user, userKey: `${number}` })],
    ['with unknown operator keys', [], (number) => ({ ...operator, token: `${key}${number}` })],
    ['of public operations', [], () => ({ ...home, actor: 'anyone' })],
    ['without a key on one bot', [], (number) => ({ ...visitor, address: `10.0.1.${number}`, webhookId: 'a' })],
    ['without a key on many bots', [], (number) => ({ ...visitor, webhookId: `${number}` })],
    ['of one IPv6 network', [], (number) => ({ ...bot, address: `2001:db8::${number}` })],
    ['of a token on operator routes', [{ ...bot, token: one }], () => ({ ...operator, token: one })],
  ])('shares a rate limit among all requests %s', async (_what, confirmed, sender) => {
    const limits = limitsOf(1);
    for (const credential of confirmed) await confirmCredential(limits, credential);

    expect(await passing(limits, sender)).toBe(burst);
  });

  it.each<[string, Sender[], Sender]>([
    ['another token', [{ ...bot, token: other }], { ...bot, token: other }],
    ['another user key', [{ ...user, userKey: 'b' }], { ...user, userKey: 'b' }],
    ['another address', [], { ...bot, address: '10.0.0.2' }],
    ['an operator', [], { ...operator, token: key }],
  ])('does not apply a rate limit to %s', async (_what, confirmed, sender) => {
    const limits = limitsOf(1);
    for (const credential of [{ ...bot, token: one }, ...confirmed]) await confirmCredential(limits, credential);

    await passing(limits, () => ({ ...bot, token: one }));
    await passing(limits, (number) => ({ ...bot, token: `${one}${number}` }));

    await expect(limits.count(sender, ignored)).resolves.toEqual(expect.any(Function));
  });

  it('counts unknown webhooks per address, and a webhook that has answered separately', async () => {
    const limits = limitsOf(1);
    (await limits.countWebhook('known', '10.0.0.1', ignored))();

    const guesses = Array.from({ length: 2 * burst }, (_, number) =>
      limits.countWebhook(`${number}`, '10.0.0.1', ignored),
    );
    const accepted = (await Promise.allSettled(guesses)).filter(({ status }) => status === 'fulfilled');

    expect(accepted).toHaveLength(burst);
    await expect(limits.countWebhook('known', '10.0.0.1', ignored)).resolves.toEqual(expect.any(Function));
  });

  it('does not apply the rate limit to the operator', async () => {
    const limits = limitsOf(1);
    await confirmCredential(limits, { ...operator, token: key });

    expect(await passing(limits, () => ({ ...operator, token: key }))).toBe(2 * burst);
  });

  it('applies no rate limit at 0 requests per second', async () => {
    const headers: string[] = [];

    await limitsOf(0, 1).count(bot, { header: (name) => headers.push(name) });

    expect(await passing(limitsOf(0, 1), () => bot)).toBe(2 * burst);
    expect(headers).toEqual([]);
  });

  it('does not count accepted credentials towards the rate limit of their address', async () => {
    const limits = limitsOf(1);
    for (let number = 0; number < 2 * burst; number += 1)
      await confirmCredential(limits, { ...bot, token: `${one}${number}` });

    expect(await passing(limits, () => bot)).toBe(burst);
  });
});

it('returns rate limit headers and Retry-After, and accepts requests after that', async () => {
  const limits = limitsOf(10);
  const sent: Record<string, string>[] = [];
  const ask = async () => {
    const headers: Record<string, string> = {};
    sent.push(headers);
    await limits.count(bot, { header: (name, value) => (headers[name] = value) });
  };

  for (let number = 0; number < burst; number += 1) await ask();
  await expect(ask()).rejects.toMatchObject({
    type: 'RateLimited',
    code: 429,
    retryAfterSeconds: 1,
    message:
      'Rate limit exceeded: 10 requests per second per address without a valid credential, bursts of up to 3. Retry after 1 s.',
  });

  const common = { 'ratelimit-limit': '3', 'ratelimit-reset': '1' };
  expect(sent).toEqual(['2', '1', '0', '0'].map((left) => ({ ...common, 'ratelimit-remaining': left })));
  await waitFor(() =>
    ask().then(
      () => true,
      () => false,
    ),
  );
  expect(await metrics.registry.metrics()).toContain('parley_rate_limited_total{of="address"}');
});

describe('memory', () => {
  it('uses no memory for unknown tokens', async () => {
    const many = 100_000;
    const limits = limitsOf(1, 2 * many);

    for (let number = 0; number < many; number += 1) await limits.count({ ...bot, token: `${number}` }, ignored);

    expect(await namesCounted()).toBe(1);
  });

  it('stores a hash of 64 characters in place of a long key', () => {
    const [long, longer] = ['a'.repeat(50_000), 'a'.repeat(50_001)];

    expect(boundedKey(long)).toMatch(/^[0-9a-f]{64}$/);
    expect(boundedKey(longer)).not.toBe(boundedKey(long));
    expect(boundedKey(one)).toBe(one);
  });

  it('limits memory by evicting the least recently used address', async () => {
    const limits = limitsOf(0.01, 1);
    const sender = (number: number) => ({
      ...bot,
      address: `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
    });
    const refused = (number: number) =>
      limits.count(sender(number), ignored).then(
        () => false,
        () => true,
      );

    for (let number = 0; number < 51_000; number += 1) {
      await refused(number);
      if (number % 1_000 === 0) await refused(0);
    }

    expect(await namesCounted()).toBe(50_000);
    expect(await refused(0)).toBe(true);
    expect(await refused(1)).toBe(false);
  });
});
