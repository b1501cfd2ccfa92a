import { type CompletionResponse, CompletionServer, imagesOf, textOf } from '@parley/testing/completion-server';
import type { CompletionsConfig } from './config';
import { Completions } from './completions';

let server: CompletionServer;
beforeAll(async () => (server = await CompletionServer.start()));
afterAll(() => server.stop());

const open = (changed: Partial<CompletionsConfig> = {}) =>
  new Completions({ completionsUrl: server.url, completionsTimeoutMs: 60_000, ...changed });
const question = (system: string, prompt: string) => ({ model: 'gpt', system, prompt });

it.each(['', '/v1'])('sends the model and the key to the address that ends with "%s"', async (end) => {
  server.order({ text: ' blue \n' });

  const answer = await open({ completionsUrl: server.url + end, completionsApiKey: 'secret' }).complete(
    question('be short', 'color?'),
  );

  expect(answer).toBe('blue');
  expect(server.requests.at(-1)).toMatchObject({
    headers: { authorization: 'Bearer secret' },
    model: 'gpt',
    messages: [
      { role: 'system', content: 'be short' },
      { role: 'user', content: 'color?' },
    ],
  });
});

it('sends an image with the prompt, and the maximum length of the answer', async () => {
  server.order({ text: 'a cat' });

  await open().complete({ ...question('', 'what is it?'), image: new Uint8Array([1, 2, 3]), maxTokens: 50 });

  const [request] = server.requests.slice(-1);
  expect(request).toMatchObject({ max_completion_tokens: 50 });
  expect(textOf(request!)).toBe('what is it?');
  expect(imagesOf(request!)).toEqual([Buffer.from([1, 2, 3])]);
});

it('names the variable to set when no server is configured', async () => {
  const answer = open({ completionsUrl: undefined }).complete(question('', 'x'));

  await expect(answer).rejects.toMatchObject({
    name: 'CompletionsRefused',
    message: expect.stringContaining('set COMPLETIONS_URL') as string,
  });
});

it.each([429, 503])('reports the server as busy when it answers %d, for as long as the server asks', async (status) => {
  server.order({ status, message: 'slow down', headers: { 'retry-after': '7' } });

  await expect(open().complete(question('', 'x'))).rejects.toMatchObject({
    name: 'CompletionsBusy',
    retryAfterMs: 7_000,
    message: `The completion server answered ${status}: slow down`,
  });
});

it.each<[string, CompletionResponse]>([
  ['500: broken', { status: 500, message: 'broken' }],
  ['something that is not a completion', 'garbage'],
  ['no answer within 200 ms', 'never'],
])('fails with a retryable error after %s', async (message, order) => {
  server.order(order);

  const answer = open({ completionsTimeoutMs: 200 }).complete(question('', 'x'));

  await expect(answer).rejects.toMatchObject({
    name: 'CompletionsUnavailable',
    message: expect.stringContaining(message) as string,
  });
});

it('fails with a retryable error when nothing listens', async () => {
  const answer = open({ completionsUrl: 'http://127.0.0.1:1' }).complete(question('', 'x'));

  await expect(answer).rejects.toMatchObject({ name: 'CompletionsUnavailable' });
});

it.each([400, 413, 422])('fails permanently when the server answers %d', async (status) => {
  server.order({ status, message: 'the question is too long' });

  await expect(open().complete(question('', 'x'))).rejects.toMatchObject({
    name: 'CompletionsRefused',
    message: `The completion server answered ${status}: the question is too long`,
  });
});

it.each([301, 401, 403, 404])('fails with a retryable error when the server answers %d', async (status) => {
  server.order({ status, message: 'not like this' });

  await expect(open().complete(question('', 'x'))).rejects.toMatchObject({
    name: 'CompletionsUnavailable',
    message: expect.stringContaining(`The completion server answered ${status}`) as string,
  });
});

it('hides the key, though the server repeats it', async () => {
  server.order({ status: 401, message: 'the key secret is wrong' });

  const answer = open({ completionsApiKey: 'secret' }).complete(question('', 'x'));

  await expect(answer).rejects.toMatchObject({ message: 'The completion server answered 401: the key *** is wrong' });
});

it('reports the server as unavailable when the quota is used up, though its status is backpressure', async () => {
  server.order({ status: 429, message: 'check your plan', code: 'insufficient_quota' });

  await expect(open().complete(question('', 'x'))).rejects.toMatchObject({
    name: 'CompletionsUnavailable',
    message: 'The completion server answered 429: check your plan',
  });
});

it('ends a completion at once when the signal aborts', async () => {
  server.order('never');
  const abort = new AbortController();

  const answer = open().complete(question('', 'x'), abort.signal);
  abort.abort(new Error('the service stops'));

  await expect(answer).rejects.toThrow('the service stops');
});
