import { CompletionServer, type CompletionAnswer } from '@parley/testing/completion-server';
import { TablesConfig } from '../config';
import { Completions } from './completions';

let server: CompletionServer;
beforeAll(async () => (server = await CompletionServer.start()));
afterAll(() => server.stop());

const open = (changed: Partial<TablesConfig> = {}) =>
  new Completions(Object.assign(new TablesConfig(), { completionsUrl: server.url, ...changed }));

it.each(['', '/v1'])('asks the model, with the key, at the address with "%s" at its end', async (end) => {
  server.order({ text: ' blue \n' });

  const answer = await open({ completionsUrl: server.url + end, completionsApiKey: 'secret' }).complete(
    'gpt',
    'be short',
    'color?',
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

it('says which variable to set when there is no server', async () => {
  const answer = open({ completionsUrl: undefined }).complete('gpt', '', 'x');

  await expect(answer).rejects.toMatchObject({
    name: 'CompletionsRefused',
    message: expect.stringContaining('set COMPLETIONS_URL') as string,
  });
});

it.each([429, 503])('is busy when the server answers %d, for as long as that says', async (status) => {
  server.order({ status, message: 'slow down', headers: { 'retry-after': '7' } });

  await expect(open().complete('gpt', '', 'x')).rejects.toMatchObject({
    name: 'CompletionsBusy',
    retryAfterMs: 7_000,
    message: `The completion server answered ${status}: slow down`,
  });
});

it.each<[string, CompletionAnswer]>([
  ['500: broken', { status: 500, message: 'broken' }],
  ['something that is not a completion', 'garbage'],
  ['no answer within 200 ms', 'never'],
])('may be asked again later after %s', async (message, order) => {
  server.order(order);

  const answer = open({ completionsTimeoutMs: 200 }).complete('gpt', '', 'x');

  await expect(answer).rejects.toMatchObject({
    name: 'CompletionsUnavailable',
    message: expect.stringContaining(message) as string,
  });
});

it('may be asked again later when nobody listens', async () => {
  const answer = open({ completionsUrl: 'http://127.0.0.1:1' }).complete('gpt', '', 'x');

  await expect(answer).rejects.toMatchObject({ name: 'CompletionsUnavailable' });
});

it('is refused what the server will never do, without the key in the message', async () => {
  server.order({ status: 401, message: 'the key secret is wrong' });

  const answer = open({ completionsApiKey: 'secret' }).complete('gpt', '', 'x');

  await expect(answer).rejects.toMatchObject({
    name: 'CompletionsRefused',
    message: 'The completion server answered 401: the key *** is wrong',
  });
});

it('is refused when the quota is used up, which the server tells like being busy', async () => {
  server.order({ status: 429, message: 'check your plan', code: 'insufficient_quota' });

  await expect(open().complete('gpt', '', 'x')).rejects.toMatchObject({
    name: 'CompletionsRefused',
    message: 'The completion server answered 429: check your plan',
  });
});

it('ends at once when nobody wants the answer any more', async () => {
  server.order('never');
  const abort = new AbortController();

  const answer = open().complete('gpt', '', 'x', abort.signal);
  abort.abort(new Error('the service stops'));

  await expect(answer).rejects.toThrow('the service stops');
});
