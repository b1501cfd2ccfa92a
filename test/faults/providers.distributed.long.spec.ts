import { operatorToken } from '@parley/secrets/token';
import { clientOf } from '@parley/testing/api';
import { answerWith, ModelServer } from '@parley/testing/model-server';
import { hasNatsServer } from '@parley/testing/nats-server';
import { sendTo } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { Fleet } from './fleet';

jest.setTimeout(120_000);

(hasNatsServer() ? describe : describe.skip)('Providers of models in two processes', () => {
  let fleet: Fleet;
  let ofVariables: ModelServer;
  let upstream: ModelServer;
  let headers: Record<string, string>;

  beforeAll(async () => {
    [ofVariables, upstream] = await Promise.all([ModelServer.start(), ModelServer.start()]);
    fleet = await Fleet.start({
      isSecured: true,
      replicasOf: { models: 2, 'files-worker': 0, tables: 0, chat: 0, runtime: 0, runner: 0 },
      env: { COMPLETIONS_SCRIPT_FILE: '', COMPLETIONS_URL: ofVariables.url, COMPLETIONS_CACHE_SECONDS: '0' },
    });
    const { bot } = await clientOf(fleet).createBot({});
    headers = fleet.headers(bot.id);
  });

  afterAll(async () => {
    await fleet?.stop();
    await Promise.all([ofVariables?.stop(), upstream?.stop()]);
  });

  beforeEach(() => {
    upstream.requests.length = 0;
    upstream.answer = answerWith('hello');
  });

  function operate(method: string, name: string, json?: object) {
    const authorization = `Bearer ${operatorToken(fleet.secretKey)}`;
    return sendTo(fleet.url, `${method} /operator/models/providers/${name}`, { headers: { authorization }, json });
  }

  /** Providers that answered this many calls at once. */
  async function askTimes(count: number): Promise<string[]> {
    const json = { messages: [{ role: 'user', content: 'hi' }] };
    const answers = await Promise.all(
      Array.from({ length: count }, () => sendTo(fleet.url, 'POST /v2/cognitive/generate-text', { headers, json })),
    );
    return answers.map(({ json: answer }) => (answer as { metadata: { provider: string } }).metadata.provider);
  }

  it('uses a provider that an operator sets, and no longer one that is deleted, in both', async () => {
    expect(new Set(await askTimes(20))).toEqual(new Set(['default']));

    expect((await operate('PUT', 'local', { url: upstream.url, key: 'sk-of-the-provider' })).status).toBe(200);
    await waitFor(async () => (await askTimes(20)).every((name) => name === 'local'));
    expect(upstream.requests.map((request) => request.headers.authorization)).toEqual(
      upstream.requests.map(() => 'Bearer sk-of-the-provider'),
    );

    expect((await operate('DELETE', 'local')).status).toBe(200);
    await waitFor(async () => (await askTimes(20)).every((name) => name === 'default'));
  });

  it('shares the rate of a provider between both', async () => {
    await operate('PUT', 'metered', { url: upstream.url, rate: 1, timeoutMs: 10_000 });

    // The next call could begin a minute later.
    await waitFor(async () => (await askTimes(20)).includes('metered'));
    await askTimes(40);

    expect(upstream.requests).toHaveLength(1);
    await operate('DELETE', 'metered');
  });
});
