import { Metrics } from '@parley/service/metrics';
import { serveMetrics } from '@parley/service/metrics-server';
import { sendTo } from '@parley/testing/public-api';
import { freePort } from '@parley/testing/free-port';
import { type RunningService, startServiceOn } from '@parley/testing/running-service';
import { createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { GatewayConfig } from './config';
import { GatewayModule } from './gateway.module';

const token = 'a-token-of-24-characters';
const bearer = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });
const configured = (settings: Partial<GatewayConfig>) => Object.assign(new GatewayConfig(), settings);

let database: EmptyDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database?.drop());

const running: RunningService[] = [];
afterEach(() => Promise.all(running.splice(0).map((service) => service.stop())));

async function start(settings: Partial<GatewayConfig>): Promise<RunningService> {
  const service = await startServiceOn(database.url, (_databaseUrl, platform) =>
    GatewayModule.register(configured(settings), platform),
  );
  running.push(service);
  return service;
}

describe('metrics on PORT', () => {
  it.each(['127.0.0.1', '127.1.2.3', 'localhost', '::1'])(
    'serves public metrics on PORT when HOST is %s',
    async (host) => {
      const { url } = await start({ host });

      expect(await sendTo(url, 'GET /metrics')).toMatchObject({ status: 200, text: expect.stringMatching(/^# HELP/) });
    },
  );

  it.each<[string, Partial<GatewayConfig>]>([
    ['all addresses', { host: '0.0.0.0' }],
    ['all addresses of IPv6', { host: '::' }],
    ['a name that is not this machine alone', { host: 'localhost.example.com' }],
    ['an address of a network', { host: '10.0.0.1' }],
    ['this machine, behind a proxy', { trustedProxies: '127.0.0.1' }],
  ])('returns Unauthorized for metrics on %s, with the names of the variables to set', async (_, settings) => {
    const { url } = await start(settings);

    for (const options of [{}, bearer(token), bearer('')]) {
      const { status, json } = await sendTo(url, 'GET /metrics', options);
      expect({ status, json }).toMatchObject({
        status: 401,
        json: { type: 'Unauthorized', message: expect.stringMatching(/METRICS_TOKEN.*METRICS_PORT/) },
      });
    }
  });

  it('requires the metrics token on PORT where one is set, on any host', async () => {
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      const { url } = await start({ host, metricsToken: token });
      const status = async (options = {}) => (await sendTo(url, 'GET /metrics', options)).status;

      expect(await status(bearer(token))).toBe(200);
      for (const wrong of [{}, bearer(''), bearer(`${token}.`), bearer(token.slice(1)), bearer(token.toUpperCase())])
        expect(await status(wrong)).toBe(401);
      expect(await status({ headers: { authorization: token } })).toBe(401);
    }
  });

  it('does not serve metrics on PORT when METRICS_PORT is set', async () => {
    const { url } = await start({ metricsPort: 9464 });

    const { status, json } = await sendTo(url, 'GET /metrics');

    expect({ status, json }).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
  });
});

describe('metrics on METRICS_PORT', () => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

  async function serve(settings: Partial<GatewayConfig>): Promise<string> {
    const metricsPort = await freePort();
    stops.push(await serveMetrics(configured({ ...settings, metricsPort }), new Metrics()));
    return `http://127.0.0.1:${metricsPort}`;
  }

  it('serves only metrics on METRICS_PORT', async () => {
    const url = await serve({ host: '0.0.0.0' });

    const { status, text, headers } = await sendTo(url, 'GET /metrics');

    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
    });
    expect(text).toContain('parley_build_info');
    for (const line of ['GET /', 'GET /metrics/x', 'GET /operator/tokens', 'POST /metrics', 'GET /%zz'])
      expect((await sendTo(url, line)).status).toBe(404);
    expect((await sendTo(url, 'HEAD /metrics?x=1')).status).toBe(200);
  });

  it('requires the metrics token on METRICS_PORT where one is set', async () => {
    const url = await serve({ metricsToken: token });

    expect((await sendTo(url, 'GET /metrics')).status).toBe(401);
    expect((await sendTo(url, 'GET /metrics', bearer(token))).status).toBe(200);
  });

  it('fails the start when METRICS_PORT is taken', async () => {
    const port = Number(new URL(await serve({})).port);

    await expect(serveMetrics(configured({ metricsPort: port }), new Metrics())).rejects.toThrow(
      /METRICS_PORT.*EADDRINUSE/,
    );
  });
});

it('renders the metrics once for all requests within a second', async () => {
  const metrics = new Metrics();
  let read = 0;
  metrics.gauge('parley_things', 'Things.', () => Promise.resolve((read += 1)));

  const texts = await Promise.all(Array.from({ length: 10 }, () => metrics.text()));
  texts.push(await metrics.text());

  expect(read).toBe(1);
  expect(new Set(texts).size).toBe(1);
  expect(texts[0]!.toString()).toMatch(/^parley_things 1$/m);
});

it('renders the metrics again after a second, and immediately after a failure', async () => {
  const metrics = new Metrics();
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  const counted = metrics.counter('parley_things', 'Things.');
  const shown = async () => /^parley_things (\d)$/m.exec((await metrics.text()).toString())![1];
  counted();
  expect(await shown()).toBe('1');
  counted();
  expect(await shown()).toBe('1');

  jest.advanceTimersByTime(1_001);

  expect(await shown()).toBe('2');
  jest.advanceTimersByTime(1_001);
  const failing = jest.spyOn(metrics.registry, 'metrics').mockRejectedValueOnce(new Error('not now'));
  await expect(metrics.text()).rejects.toThrow('not now');
  expect(await shown()).toBe('2');
  failing.mockRestore();
  jest.useRealTimers();
});
