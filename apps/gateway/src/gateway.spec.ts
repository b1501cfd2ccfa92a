import { request } from 'node:http';
import { connect } from 'node:net';
import {
  type TestResponse,
  type PublicApi,
  type Account,
  type SendOptions,
  startPublicApi,
} from '@parley/testing/public-api';
import { newToken } from '@parley/secrets/token';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../admin/src/admin.module';
import { GatewayModule } from './gateway.module';

let api: PublicApi;
let alice: Account;
let bob: Account;
let aliceBot: string;
let bobBot: string;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
  const bots = await Promise.all([alice, bob].map(({ client }) => client.createBot({})));
  [aliceBot, bobBot] = bots.map(({ bot }) => bot.id) as [string, string];
});

afterAll(() => api?.stop());

function send(line: string, { headers, ...options }: SendOptions = {}): Promise<TestResponse> {
  const own = { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId };
  return api.send(line, { ...options, headers: { ...own, ...headers } });
}

async function sendRaw(text: string): Promise<string> {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

function anError(status: number, type: string, message: RegExp | string = /./) {
  return expect.objectContaining({
    status,
    headers: expect.objectContaining({ 'content-type': 'application/json; charset=utf-8' }),
    json: {
      id: expect.stringMatching(/^err_\d{14}x[0-9A-F]{8}$/),
      code: status,
      type,
      message: expect.stringMatching(message),
    },
  });
}

describe('a credential', () => {
  const valid = newToken('pat');
  /** Stops the clock of the gateway's identity cache. */
  const stopClock = () => jest.spyOn(performance, 'now').mockReturnValue(performance.now());

  afterEach(() => void jest.restoreAllMocks());

  it.each([
    ['nothing', undefined, /Authorization header must be "Bearer <token>"/],
    ['an empty header', '', /Authorization header must be/],
    ['no scheme', valid, /Authorization header must be/],
    ['another scheme', `Basic ${valid}`, /Authorization header must be/],
    ['no token', 'Bearer ', /Authorization header must be/],
    ['two tokens', `Bearer ${valid} ${valid}`, /Authorization header must be/],
    ['a cut token', `Bearer ${valid.slice(0, -1)}`, /malformed or incomplete/],
    ['a token of no kind', 'Bearer secret', /malformed or incomplete/],
    ['a token that nobody has', `Bearer ${valid}`, /unknown or was revoked/],
    ['a bot key that nobody has', `Bearer ${newToken('bak')}`, /unknown or was revoked/],
    ['an integration key that nobody has', `Bearer ${newToken('iak')}`, /unknown or was revoked/],
    ['another operator key', `Bearer ${newToken('operator')}`, /unknown or was revoked/],
  ])('returns Unauthorized for a credential that is %s', async (_name, authorization, message) => {
    const headers = { 'x-workspace-id': alice.workspaceId, ...(authorization === undefined ? {} : { authorization }) };

    expect(await api.send('GET /v1/admin/bots', { headers })).toEqual(anError(401, 'Unauthorized', message));
  });

  it('accepts the scheme of a credential in any case', async () => {
    const answer = await send('GET /v1/admin/account/pats', { headers: { authorization: `bearer  ${alice.token}` } });

    expect(answer.status).toBe(200);
  });

  it.each(['personal access token', 'bot API key'])('rejects a %s within a second of its revocation', async (kind) => {
    const isPersonal = kind === 'personal access token';
    const { client } = alice;
    const key = isPersonal
      ? (await client.createPersonalAccessToken({ note: 'x' })).pat
      : await client.createBotApiKey({ botId: aliceBot });
    const use = () =>
      api.send(`GET /v1/admin/bots/${aliceBot}`, {
        headers: { authorization: `Bearer ${key.value}`, 'x-workspace-id': alice.workspaceId },
      });
    stopClock();
    expect((await use()).status).toBe(200);

    await (isPersonal ? client.deletePersonalAccessToken({ id: key.id }) : client.deleteBotApiKey({ id: key.id }));

    const refused = await waitFor(use, ({ status }) => status !== 200);
    expect(refused).toEqual(anError(401, 'Unauthorized', /revoked/));
  });

  it('rejects a credential within a second of its revocation even without a broadcast', async () => {
    const { pat } = await alice.client.createPersonalAccessToken({ note: 'x' });
    const use = () => api.send('GET /v1/admin/account/pats', { headers: { authorization: `Bearer ${pat.value}` } });
    const clock = stopClock();
    expect((await use()).status).toBe(200);
    await api.sql('DELETE FROM admin.token WHERE id = $1', [pat.id]);

    clock.mockReturnValue(performance.now() + 1_001);

    expect((await use()).status).toBe(401);
  });

  it('keeps a credential valid when others are revoked', async () => {
    const { client } = alice;
    const tokens = await Promise.all(Array.from({ length: 20 }, () => client.createPersonalAccessToken({ note: 'x' })));

    const [answers] = await Promise.all([
      Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          send('GET /v1/admin/bots', {
            headers: { 'x-workspace-id': index % 2 ? alice.workspaceId : bob.workspaceId },
          }),
        ),
      ),
      ...tokens.map(({ pat }) => client.deletePersonalAccessToken({ id: pat.id })),
    ]);

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 403]));
  });
});

describe('a context header', () => {
  it.each([
    ['x-workspace-id', 'GET /v1/admin/bots', 'the id of a workspace'],
    ['x-bot-id', 'GET /v1/files', 'the id of a bot'],
  ])('returns InvalidPayload with the name of the header %s when it is missing or empty', async (name, line, right) => {
    const wrong = anError(400, 'InvalidPayload', `The header ${name} is missing: it must be ${right}.`);
    const carol = await api.newAccount();
    await carol.client.createWorkspace({ name: 'second' });
    const headers = { authorization: `Bearer ${carol.token}` };

    expect(await api.send(line, { headers })).toEqual(wrong);
    expect(await api.send(line, { headers: { ...headers, [name]: '' } })).toEqual(wrong);
  });

  it.each([
    ['x-workspace-id', 'GET /v1/admin/bots', () => bob.workspaceId],
    ['x-bot-id', 'GET /v1/files', () => bobBot],
  ])('returns the same Forbidden for a foreign and an unknown id in the header %s', async (name, line, foreign) => {
    const answers = await Promise.all(
      [foreign(), 'nothing', "' OR 1=1", 'x'.repeat(5_000)].map((id) => send(line, { headers: { [name]: id } })),
    );

    answers.forEach((answer) =>
      expect(answer).toEqual(anError(403, 'Forbidden', /was not found, or this token has no access to it/)),
    );
    expect(answers[0]!.json.message.replace(foreign(), '')).toBe(answers[1]!.json.message.replace('"nothing"', '""'));
  });

  it('forbids x-workspace-id of another workspace than that of the bot', async () => {
    const answer = await send('GET /v1/files', {
      headers: { 'x-bot-id': aliceBot, 'x-workspace-id': bob.workspaceId },
    });

    expect(answer).toEqual(anError(403, 'Forbidden'));
  });

  it('requires context headers that match the bot and workspace of a bot key', async () => {
    const { value } = await alice.client.createBotApiKey({ botId: aliceBot });
    const use = (headers: Record<string, string>) =>
      api.send('GET /v1/files', { headers: { authorization: `Bearer ${value}`, ...headers } });

    expect(await use({ 'x-bot-id': bobBot })).toEqual(anError(403, 'Forbidden', /x-bot-id/));
    expect(await use({ 'x-bot-id': aliceBot, 'x-workspace-id': bob.workspaceId })).toEqual(
      anError(403, 'Forbidden', /x-workspace-id/),
    );
    expect((await use({ 'x-bot-id': aliceBot })).status).toBe(503);
  });

  it('forbids context headers of an unknown installation', async () => {
    const names = ['x-integration-id', 'x-integration-alias', 'x-integration-name'];

    const answers = await Promise.all(
      names.map((name) => send('GET /v1/files', { headers: { 'x-bot-id': aliceBot, [name]: 'x' } })),
    );

    answers.forEach((answer) => expect(answer).toEqual(anError(403, 'Forbidden')));
  });

  it('requires that the role in a context header suffices for the operation', async () => {
    const carol = await api.newAccount();
    await api.addMember(alice.workspaceId, carol.accountId, 'viewer');
    const headers = { authorization: `Bearer ${carol.token}` };

    expect((await send('GET /v1/admin/bots', { headers })).status).toBe(200);
    expect(await send('POST /v1/admin/bots', { headers, json: {} })).toEqual(
      anError(403, 'Forbidden', /role viewer does not permit/),
    );
  });
});

describe('a request to an unknown route', () => {
  it.each([
    ['GET /'],
    ['PATCH /v1/files'],
    ['POST /v1/admin/nothing?x=1'],
    ['PATCH /v1/admin/workspaces/x'],
    ['GET //v1/admin/bots'],
    ['GET /v1/admin/../admin/bots'],
    ['GET /v1/ADMIN/bots'],
  ])('returns 404 "not available in this version" for %s', async (line) => {
    expect(await send(line)).toEqual(anError(404, 'ResourceNotFound', /not available in this version/));
  });

  it('returns 404 for any body to an unknown route', async () => {
    const headers = { 'content-type': 'application/json' };

    expect(await send('POST /v1/nothing', { headers, body: '{' })).toEqual(
      anError(404, 'ResourceNotFound', /not available/),
    );
  });

  it.each(['GET /%zz', 'GET /v1/admin/bots/%E0%A4%A', 'GET /v1/admin/workspaces/%'])(
    'returns InvalidPayload for the undecodable path %s',
    async (line) => {
      expect(await send(line)).toMatchObject({
        status: 400,
        json: { id: expect.any(String), code: 400, type: 'InvalidPayload', message: expect.any(String) },
      });
    },
  );

  it.each([
    ['no HTTP', 'what?\r\n\r\n', /not valid HTTP/],
    ['headers without end', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, /headers are too large/],
  ])('returns InvalidPayload for the decoded path %s', async (_name, text, message) => {
    const answer = await sendRaw(text);

    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toEqual({
      id: expect.stringMatching(/^err_/),
      code: 400,
      type: 'InvalidPayload',
      message: expect.stringMatching(message),
    });
  });

  it('sends CORS headers and a request id with the answer for an unknown route', async () => {
    const answer = await send('GET /v1/nothing', { headers: { origin: 'http://app.example', 'x-request-id': 'r-1' } });

    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'http://app.example',
      'access-control-allow-credentials': 'true',
      'x-request-id': 'r-1',
    });
  });

  it('sends no CORS headers to a client that names no origin, and tells caches that origins differ', async () => {
    const { headers } = await send('GET /v1/nothing');

    expect(headers.vary).toBe('Origin');
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('a body', () => {
  const create = 'POST /v1/admin/workspaces';
  const headers = { 'content-type': 'application/json' };

  it.each([
    ['no JSON', '{"name":'],
    ['single quotes', "{'name':'x'}"],
    ['a NUL byte', '\0'],
    ['a trailing comma', '{"name":"x",}'],
  ])('returns InvalidPayload for a body of %s', async (_name, body) => {
    expect(await send(create, { headers, body })).toEqual(anError(400, 'InvalidPayload', /not valid JSON/));
  });

  it.each(['[]', 'null', '1', '"x"', 'true'])(
    'returns InvalidPayload for the body %s, which is no object',
    async (body) => {
      expect(await send(create, { headers, body })).toEqual(anError(400, 'InvalidPayload', /must be a JSON object/));
    },
  );

  it('treats an empty body as an object without fields', async () => {
    const missing = anError(400, 'InvalidPayload', /name is missing/);

    expect(await send(create, { headers, body: '' })).toEqual(missing);
    expect(await send(create)).toEqual(missing);
    expect(await send(create, { headers: { ...headers, 'transfer-encoding': 'chunked' } })).toEqual(missing);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'nonsense',
  ])('returns UnsupportedMediaType for a body of type %s', async (type) => {
    expect(await send(create, { headers: { 'content-type': type }, body: 'name=x' })).toEqual(
      anError(415, 'UnsupportedMediaType', /application\/json/),
    );
  });

  it('returns UnsupportedMediaType for a body without a type', async () => {
    expect(await send(create, { body: '{"name":"x"}' })).toEqual(
      anError(415, 'UnsupportedMediaType', /application\/json/),
    );
  });

  it('accepts a charset in the content type of a body', async () => {
    const answer = await send(create, {
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: '{"name":"é"}',
    });

    expect(answer).toMatchObject({ status: 200, json: { name: 'é' } });
  });

  it('rejects a body over the limit, with or without content-length', async () => {
    const body = JSON.stringify({ name: 'x', about: 'y'.repeat(2_000_000) });
    const tooLarge = anError(413, 'PayloadTooLarge', /2000000 bytes/);

    expect(await send(create, { headers, body })).toEqual(tooLarge);
    expect(await send(create, { headers: { ...headers, 'transfer-encoding': 'chunked' }, body })).toEqual(tooLarge);
  });

  it('does not read a body before authentication', async () => {
    const answer = await api.send(create, { headers, body: '{' });

    expect(answer).toEqual(anError(401, 'Unauthorized'));
  });

  it('accepts DELETE with and without a body', async () => {
    const none = anError(404, 'ResourceNotFound', /The bot "x" was not found/);

    expect(await send('DELETE /v1/admin/bots/x', { json: {} })).toEqual(none);
    expect(await send('DELETE /v1/admin/bots/x')).toEqual(none);
    expect(await send('DELETE /v1/admin/bots/x', { headers })).toEqual(none);
  });

  it('returns every invalid field of a body with its path and constraint', async () => {
    const json = { name: 1, tags: { a: 1 }, user: { tags: { t: { title: 5 } } }, type: 'x', medias: [null] };

    const { json: error } = await send('POST /v1/admin/bots', { json });

    const problems = error.message.replace(/\.$/, '').split('; ').sort();
    expect(problems).toEqual([
      'medias must be an array of objects',
      'name must be a string',
      'tags has an entry "a" that must be a string',
      'type must be one of the following values: studio, adk, desk',
      'user.tags has an entry "t" whose title must be a string',
    ]);
  });

  it('accepts unknown fields of a body', async () => {
    const answer = await send(create, { json: { name: 'x', later: { a: 1 }, id: 'mine', ownerId: 'mine' } });

    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ name: 'x', ownerId: alice.accountId });
    expect(answer.json.id).not.toBe('mine');
  });

  it('does not let a body pollute prototypes', async () => {
    const body =
      '{"name":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"hasOwnProperty":1}';
    const inside =
      '{"tags":{"__proto__":"a","constructor":"b"},"configuration":{"data":{"__proto__":{"polluted":1},"constructor":1}}}';

    expect((await send(create, { headers, body })).status).toBe(200);
    const { status, json } = await send('POST /v1/admin/bots', { headers, body: inside });

    expect(status).toBe(200);
    expect(JSON.stringify(json.bot.tags)).toBe('{"__proto__":"a","constructor":"b"}');
    expect(JSON.stringify(json.bot.configuration.data)).toBe('{"__proto__":{"polluted":1},"constructor":1}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it.each([
    ['U+0000', '{"name":"a\\u0000"}', /name must not contain the character U\+0000/],
    ['half a surrogate pair', '{"name":"\\ud83d"}', /name must be Unicode text/],
  ])('returns InvalidPayload for a body with %s', async (_name, body, message) => {
    expect(await send(create, { headers, body })).toEqual(anError(400, 'InvalidPayload', message));
  });

  it('returns InvalidPayload for extreme nesting, and ignores it in an unknown field', async () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;

    expect(await send('POST /v1/admin/bots', { headers, body: `{"configuration":{"data":${deep}}}` })).toEqual(
      anError(400, 'InvalidPayload', /nested deeper than 100/),
    );
    expect((await send(create, { headers, body: `{"name":"x","later":${deep}}` })).status).toBe(200);
  });
});

describe('large bodies', () => {
  const large = `{"code":"${'x'.repeat(9_000_000)}"`;
  let patience: AbortController;
  let timeouts: jest.SpyInstance;

  // A waiting body gives up when the test says so, however slow the machine is.
  beforeEach(() => {
    patience = new AbortController();
    timeouts = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(patience.signal);
  });

  afterEach(() => timeouts.mockRestore());

  /**
   * Sends all but the last byte of a large body. `arrived` resolves when the gateway has read more than a socket
   * buffers.
   */
  function startLarge({ token, workspaceId } = alice) {
    const { hostname, port } = new URL(api.url);
    const headers = {
      authorization: `Bearer ${token}`,
      'x-workspace-id': workspaceId,
      'content-type': 'application/json',
      'content-length': String(large.length + 1),
    };
    const outgoing = request({ hostname, port, method: 'POST', path: '/v1/admin/bots', headers });
    const status = new Promise<number | undefined>((resolve) => {
      outgoing.on('response', (response) => resolve(response.resume().statusCode));
      outgoing.on('error', () => resolve(undefined));
    });
    const arrived = new Promise<unknown>((resolve) => outgoing.write(large, resolve));
    return { finish: () => outgoing.end('}'), abort: () => outgoing.destroy(), status, arrived };
  }

  async function startTwo() {
    const two = [startLarge(), startLarge()];
    await Promise.all(two.map(({ arrived }) => arrived));
    return two;
  }

  it('limits large bodies to two per workspace: a third waits, other workspaces do not', async () => {
    const two = await startTwo();

    const third = startLarge();
    third.finish();
    let isThirdAnswered = false;
    void third.status.then(() => (isThirdAnswered = true));
    const ofBob = [startLarge(bob), startLarge(bob)];
    ofBob.forEach(({ finish }) => finish());
    const small = await send('POST /v1/admin/bots', { json: {} });
    const others = await Promise.all(ofBob.map(({ status }) => status));

    expect(small.status).toBe(200);
    expect(others).toEqual([200, 200]);
    expect(isThirdAnswered).toBe(false);
    two.forEach(({ finish }) => finish());
    expect(await Promise.all([...two, third].map(({ status }) => status))).toEqual([200, 200, 200]);
  });

  it('frees the slot of a large body when the client disconnects', async () => {
    const two = await startTwo();
    two.forEach(({ abort }) => abort());
    await Promise.all(two.map(({ status }) => status));

    await waitFor(
      () => {
        const next = startLarge();
        next.finish();
        return next.status;
      },
      (status) => status === 200,
    );
  });

  it('rejects large bodies that wait too long with Retry-After', async () => {
    const two = await startTwo();
    timeouts.mockClear();

    const headers = { 'content-type': 'application/json' };
    const answering = send('POST /v1/admin/bots', { headers, body: `${large}}` });
    await waitFor(() => timeouts.mock.calls.length > 0);
    patience.abort();
    const answer = await answering;

    expect(answer).toEqual(anError(503, 'Internal', /at most 2 bodies over 1000000 bytes per workspace/));
    expect(answer.headers['retry-after']).toBe('1');
    two.forEach(({ abort }) => abort());
    await Promise.all(two.map(({ status }) => status));
  });
});

describe('a path', () => {
  it('routes a path before it is decoded', async () => {
    expect(await send('GET /v1/admin/bots/a%2Fb%3Fc%25')).toEqual(
      anError(404, 'ResourceNotFound', /The bot "a\/b\?c%" was not found/),
    );
  });

  it('prefers a literal segment of a path to a parameter', async () => {
    const answer = await send(`GET /v1/admin/bots/baks?botId=${aliceBot}`);

    expect(answer).toMatchObject({ status: 200, json: { baks: expect.any(Array) } });
  });

  it.each([
    ['is too long', 'x'.repeat(1_001), /id must be at most 1000 characters/],
    ['is no text', '%00', /id must not contain the character U\+0000/],
    ['tries SQL', "'%20OR%201=1", /The bot "/],
  ])('returns an error for a path whose value %s', async (_name, id, message) => {
    expect(await send(`GET /v1/admin/bots/${id}`)).toEqual(anError(404, 'ResourceNotFound', message));
  });

  it('accepts the longest key in a path, percent-encoded', async () => {
    const key = encodeURIComponent('漢'.repeat(1000));

    expect(await send(`GET /v1/admin/bots/${key}`)).toEqual(anError(404, 'ResourceNotFound', /The bot "/));
  });
});

describe('a query', () => {
  it.each([
    ['limit=0', 'limit must be an integer from 1 to 200.'],
    ['limit=1&limit=2', 'limit must not be repeated.'],
    ['nextToken=abc', /^nextToken is not valid for this list/],
    ['nextToken=%00', 'nextToken must not contain the character U.0000.'],
    ['tags=%7B', /^tags must be a JSON object/],
    ['tags.a.not=%00', /^tags must not contain/],
  ])('returns InvalidQuery for the query %s', async (query, message) => {
    expect(await send(`GET /v1/admin/bots?${query}`)).toEqual(anError(400, 'InvalidQuery', message));
  });

  it('returns InvalidQuery for a query without a required parameter', async () => {
    expect(await send('GET /v1/admin/bots/baks')).toEqual(anError(400, 'InvalidQuery', 'botId is missing.'));
  });

  it('accepts unknown parameters of a query, which do not pollute prototypes', async () => {
    const answer = await send('GET /v1/admin/bots?later=1&__proto__=x&constructor=y&tags.__proto__=z');

    expect(answer).toMatchObject({ status: 200, json: { bots: [] } });
  });

  it('filters by tags in both notations of a query', async () => {
    const { bot } = await alice.client.createBot({ tags: { color: 'red', 'a.b': 'x y' } });
    const other = (await alice.client.createBot({ tags: { color: 'green' } })).bot;
    const json = (filter: object) => `tags=${encodeURIComponent(JSON.stringify(filter))}`;
    const found = async (query: string) =>
      ((await send(`GET /v1/admin/bots?${query}`)).json.bots as { id: string }[]).map(({ id }) => id);

    for (const query of [
      'tags.color=red',
      'tags.color=red&tags.color=blue',
      'tags.a.b=x%20y',
      json({ color: ['red', 'blue'] }),
    ]) {
      expect(await found(query)).toEqual([bot.id]);
    }
    expect(await found(`tags.color=red&tags.color=green&tags.color.not=red`)).toEqual([other.id]);
    expect(await found(json({ color: { not: ['red', 'green'] } }))).not.toEqual(expect.arrayContaining([bot.id]));
  });
});

describe('an answer', () => {
  it('returns the id of the request, or a new id when the given one is invalid', async () => {
    expect(
      (await send('GET /v1/admin/bots', { headers: { 'x-request-id': 'abc-1.2_3' } })).headers['x-request-id'],
    ).toBe('abc-1.2_3');
    for (const id of ['', 'a b', 'x'.repeat(101), '<script>']) {
      expect((await send('GET /v1/admin/bots', { headers: { 'x-request-id': id } })).headers['x-request-id']).toMatch(
        /^req_[0-9a-f-]{36}$/,
      );
    }
  });

  it('returns the same error id in header and body', async () => {
    const { headers, json } = await send('GET /v1/admin/bots/x');

    expect(headers['x-error-id']).toBe(json.id);
  });

  it('keeps connections alive for longer than clients do', async () => {
    const { headers } = await send('GET /v1/admin/bots', { headers: { connection: 'keep-alive' } });

    expect(Number(/timeout=(\d+)/.exec(String(headers['keep-alive']))?.[1])).toBeGreaterThan(60);
  });

  it('allows any origin with credentials', async () => {
    const origin = 'https://app.example';
    const asked = {
      origin,
      'access-control-request-method': 'DELETE',
      'access-control-request-headers': 'authorization,x-bot-id,x-user-key,x-whatever',
    };

    const preflight = await api.send('OPTIONS /v1/admin/bots/x', { headers: asked });
    const answer = await send('GET /v1/admin/bots/x', { headers: { origin } });

    expect(preflight).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-headers': 'authorization,x-bot-id,x-user-key,x-whatever',
        'access-control-allow-methods': expect.stringContaining('DELETE'),
      },
    });
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers':
        'x-request-id, retry-after, idempotent-replayed, x-parley-warning, ratelimit-limit, ratelimit-remaining, ratelimit-reset',
      vary: expect.stringMatching(/origin/i),
    });
  });

  it('returns 503 with Retry-After when no service responds', async () => {
    const answer = await send('GET /v1/files', { headers: { 'x-bot-id': aliceBot } });

    expect(answer).toEqual(anError(503, 'Internal', /No service instance is available/));
    expect(answer.headers['retry-after']).toBe('1');
  });

  it('returns no internal details when a service fails', async () => {
    await api.sql('ALTER TABLE admin.bot RENAME COLUMN tags TO hidden');

    const answer = await send('GET /v1/admin/bots');

    await api.sql('ALTER TABLE admin.bot RENAME COLUMN hidden TO tags');
    expect(answer).toEqual(anError(500, 'Internal', /^Internal server error\.$/));
    expect(Object.keys(answer.headers)).not.toContain('x-powered-by');
  });
});
