import { answerWith, beginStream, failWith, ModelServer, sendChunk } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;
let bot: { id: string; key: string };

beforeAll(async () => {
  upstream = await ModelServer.start(['gpt-4.1-mini', 'embed-small']);
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsUrl: `${upstream.url}/v1` }),
  );
  account = await api.newAccount();
  const { id } = (await account.client.createBot({})).bot;
  bot = { id, key: (await account.client.createBotApiKey({ botId: id })).value };
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.answer = answerWith('hello there');
});

const messages = [{ role: 'user', content: 'hi' }];
const ask = (json: object, path = 'chat/completions', token = bot.key) =>
  api.send(`POST /v1/ai/${path}`, { headers: { authorization: `Bearer ${token}` }, json });

it('answers with the completion of the provider, and passes all fields on, with a bot key alone', async () => {
  const { status, json } = await ask({ model: 'gpt-4.1-mini', messages, seed: 7, max_tokens: 5, top_k: 3 });

  expect({ status, json }).toMatchObject({
    status: 200,
    json: {
      object: 'chat.completion',
      model: 'default:gpt-4.1-mini',
      choices: [{ message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' }],
    },
  });
  expect(upstream.requests[0]!.body).toEqual({
    ...{ model: 'gpt-4.1-mini', messages, seed: 7, max_completion_tokens: 5, top_k: 3 },
  });
});

it('streams the events of the provider, with the usage only for those who ask for it', async () => {
  const events = (text: string) =>
    text
      .trim()
      .split('\n\n')
      .map((line) => line.replace('data: ', ''));
  const plain = events((await ask({ model: 'auto', messages, stream: true })).text);
  const counted = events(
    (await ask({ model: 'auto', messages, stream: true, stream_options: { include_usage: true } })).text,
  );

  expect(plain.at(-1)).toBe('[DONE]');
  const words = plain.slice(0, -1).map((text) => JSON.parse(text).choices[0].delta.content ?? '');
  expect(words.join('')).toBe('hello there');
  expect(JSON.parse(counted.at(-2)!)).toEqual({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } });
});

it('streams an event over several lines as one line', async () => {
  upstream.answer = (_request, response) => {
    beginStream(response);
    response.write('data: {"choices":\ndata: [{"delta":{"content":"two lines"},\ndata: "finish_reason":"stop"}]}\n\n');
    response.end('data: [DONE]\n\n');
  };

  const { text } = await ask({ model: 'auto', messages, stream: true });

  const [event, done] = text.trim().split('\n\n');
  expect(JSON.parse(event!.replace('data: ', ''))).toMatchObject({ choices: [{ delta: { content: 'two lines' } }] });
  expect(done).toBe('data: [DONE]');
});

it('streams the answer of a provider that does not stream', async () => {
  upstream.answer = ({ body }, response) =>
    answerWith('in one piece')({ body: { ...body, stream: false } } as never, response);

  const { text } = await ask({ model: 'auto', messages, stream: true });
  expect(text).toMatch(/"delta":\{"role":"assistant","content":"in one piece"\}.*\n\ndata: \[DONE\]\n\n$/s);
});

it('ends a stream that breaks off without [DONE]', async () => {
  upstream.answer = (_request, response) => {
    beginStream(response);
    sendChunk(response, { content: 'begun' });
    setImmediate(() => response.destroy());
  };

  await expect(ask({ model: 'auto', messages, stream: true })).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it("answers errors in the format of OpenAI's API, with the id of the error", async () => {
  upstream.answer = failWith(400, { message: 'too long' });
  const refused = await ask({ model: 'auto', messages });
  expect(refused).toMatchObject({
    status: 400,
    json: { error: { code: 'InvalidPayload', type: 'invalid_request_error', id: refused.headers['x-error-id'] } },
  });
  expect(await ask({ model: 'auto' })).toMatchObject({
    status: 400,
    json: { error: { message: 'messages is missing.' } },
  });
  expect(await ask({ model: 'auto', messages }, 'chat/completions', 'bp_bak_wrong')).toMatchObject({
    status: 401,
    json: { error: { type: 'authentication_error' } },
  });
  expect((await ask({ model: 'auto', messages }, 'chat/completions', account.token)).json.error.message).toContain(
    'x-bot-id is missing',
  );
});

it('passes embeddings on, of the named model only', async () => {
  upstream.answer = ({ body }, response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ data: [{ index: 0, embedding: [1] }], model: body.model, usage: { prompt_tokens: 3 } }));

  expect(await ask({ model: 'embed-small', input: 'hi', dimensions: 1 }, 'embeddings')).toMatchObject({
    status: 200,
    json: { data: [{ embedding: [1] }] },
  });
  expect(upstream.requests[0]).toMatchObject({ path: '/v1/embeddings', body: { model: 'embed-small', dimensions: 1 } });
  expect(await ask({ model: 'other', input: 'hi' }, 'embeddings')).toMatchObject({ status: 400 });
});

it('lists the models and the names for them', async () => {
  const { json } = await api.send('GET /v1/ai/models', { headers: { authorization: `Bearer ${bot.key}` } });

  expect(json.data.map(({ id }: { id: string }) => id)).toEqual([
    ...['auto', 'best', 'fast', 'vision', 'default:gpt-4.1-mini', 'default:embed-small'],
  ]);
});
