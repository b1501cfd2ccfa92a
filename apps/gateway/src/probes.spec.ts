import { GatewayModule } from './gateway.module';
import { GatewayConfig } from './config';
import { type RunningService, startService } from '@parley/testing/running-service';
import { sendTo } from '@parley/testing/public-api';
import { newToken } from '@parley/secrets/token';

class Bus {
  isThere = true;

  start(): Promise<RunningService> {
    return startService((_databaseUrl, platform) => {
      const ready = () =>
        this.isThere ? Promise.resolve() : Promise.reject(new Error('no connection to nats://10.0.0.7:4222'));
      return GatewayModule.register(new GatewayConfig(), {
        ...platform,
        driver: Object.assign(platform.driver, { ready }),
      });
    });
  }
}

const bus = new Bus();
let gateway: RunningService;

beforeAll(async () => {
  gateway = await bus.start();
});

afterAll(() => gateway?.stop());

const get = (path: string, headers?: Record<string, string>) => sendTo(gateway.url, `GET ${path}`, { headers });

describe('a gateway', () => {
  it('reports a gateway as alive and ready while its bus is', async () => {
    expect(await get('/healthz')).toMatchObject({ status: 200, json: { status: 'ok' } });
    expect(await get('/readyz')).toMatchObject({ status: 200, json: { status: 'ready' } });
  });

  it('reports a gateway as alive but not ready while its bus is down', async () => {
    bus.isThere = false;

    const [health, ready] = await Promise.all([get('/healthz'), get('/readyz')]);

    bus.isThere = true;
    expect(health.status).toBe(200);
    expect(ready).toMatchObject({ status: 503, json: { status: 'not ready', waitingFor: ['bus'] } });
    expect(ready.text).not.toContain('10.0.0.7');
  });

  it('returns 503 when admin does not respond', async () => {
    const headers = { authorization: `Bearer ${newToken('pat')}` };

    const answer = await sendTo(gateway.url, 'GET /v1/admin/workspaces', { headers });

    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      json: { code: 503, type: 'Internal' },
    });
  });

  it('counts requests by route', async () => {
    await get('/v1/admin/workspaces/some-id');

    const { text, headers } = await get('/metrics');

    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(text).toMatch(
      /parley_http_request_seconds_count\{route="GET \/v1\/admin\/workspaces\/:id",status="401"\} 1/,
    );
  });

  it('serves its documentation without resources of other origins', async () => {
    const { status, headers, text } = await get('/docs');
    const assets = [...text.matchAll(/(?:src|href)="([^"]+)"|url: '([^']+)'/g)].map(
      ([, attribute, url]) => (attribute ?? url)!,
    );

    const answers = await Promise.all(assets.map((path) => get(path)));

    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    expect(assets).toEqual(['/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/openapi.json']);
    expect(answers.map((answer) => [answer.status, answer.headers['content-type']])).toEqual([
      [200, 'text/css; charset=utf-8'],
      [200, 'text/javascript; charset=utf-8'],
      [200, 'application/json; charset=utf-8'],
    ]);
    const packed = await get('/openapi.json', { 'accept-encoding': 'gzip' });
    const known = await get('/openapi.json', { 'if-none-match': answers[2]!.headers.etag! });
    expect([packed.headers['content-encoding'], known.status, known.text]).toEqual(['gzip', 304, '']);
    expect(answers[2]!.json).toMatchObject({
      openapi: '3.0.3',
      paths: { '/v1/files': { put: { operationId: 'files.upsert' } } },
    });
  });
});
