import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { waitFor } from '@parley/testing/wait-for';
import { type BotName, bundleBot, type Sdk, sdks, serveBot, type ServedBot } from '../support/bots';

const token = 'bp_bak_token';
const [botId, conversationId, userId] = ['bot-1', 'conversation-1', 'user-1'];

let api: LoopbackServer;
let served: ServedBot[] = [];

beforeEach(async () => {
  const workflow = { id: 'workflow-1', name: 'counting', status: 'pending', input: { value: 2 }, output: {}, tags: {} };
  api = await LoopbackServer.start(json({ message: {}, state: {}, event: {}, workflow }));
});

afterEach(async () => {
  await Promise.all(served.map((bot) => bot.stop()));
  served = [];
  await api.close();
});

async function serve(name: BotName, sdk: Sdk): Promise<ServedBot> {
  const bot = await serveBot(await bundleBot(name, sdk), { apiUrl: api.url, token });
  served.push(bot);
  return bot;
}

function call({ url }: ServedBot, event: ReturnType<typeof eventOf>, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { method: 'POST', headers: headersOf(event.type), body: JSON.stringify({ event }), signal });
}

function headersOf(type: string) {
  return {
    'content-type': 'application/json',
    'x-bot-id': botId,
    'x-bot-user-id': botId,
    'x-bp-operation': 'event_received',
    'x-bp-type': type,
    'x-bp-configuration': Buffer.from(JSON.stringify({ payload: '{}' })).toString('base64'),
  };
}

function eventOf(type: string, payload: object, id = 'event-1') {
  return { id, createdAt: new Date().toISOString(), type, payload, status: 'pending', conversationId, userId };
}

function messageOf(text: string, id?: string) {
  const message = {
    id: 'message-1',
    type: 'text',
    payload: { text },
    direction: 'incoming',
    userId,
    conversationId,
    tags: {},
  };
  const [user, conversation] = [{ id: userId }, { id: conversationId }];
  return eventOf('message_created', { message, user, conversation, states: {} }, id);
}

function workflowUpdateOf(type: string, workflow: object, id?: string) {
  const defaults = {
    id: 'workflow-1',
    status: 'in_progress',
    input: { value: 2 },
    output: {},
    tags: {},
    conversationId,
  };
  return eventOf('workflow_update', { type, workflow: { ...defaults, ...workflow } }, id);
}

/** Calls of the API by the bot. */
function calls() {
  return api.requests.map(({ method, path, body }) => ({ call: `${method} ${path}`, body }));
}

function sent(text: string) {
  return {
    call: 'POST /v1/chat/messages',
    body: { conversationId, userId: botId, tags: {}, type: 'text', payload: { text } },
  };
}

describe.each(sdks)('bots of @botpress/sdk, generation %s', (sdk) => {
  it('answers a message through the API', async () => {
    const bot = await serve('echo', sdk);

    const { status } = await call(bot, messageOf('tea ☕'));

    expect(status).toBe(200);
    expect(calls()).toEqual([sent('echo: tea ☕')]);
    expect(api.requests[0]!.headers).toMatchObject({ authorization: `Bearer ${token}`, 'x-bot-id': botId });
    expect(await bot.effects()).toEqual([
      {
        eventId: 'event-1',
        type: 'message_created',
        conversationId,
        text: 'tea ☕',
        concurrent: 1,
        at: expect.any(Number),
      },
    ]);
  });

  it('records events of other types', async () => {
    const bot = await serve('echo', sdk);

    const { status } = await call(bot, eventOf('webchat:opened', { page: 1 }));

    expect(status).toBe(200);
    expect(await bot.effects()).toMatchObject([{ eventId: 'event-1', type: 'webchat:opened', text: '{"page":1}' }]);
  });

  it('reports health, and refuses requests without the id of the bot', async () => {
    const bot = await serve('echo', sdk);

    const health = await fetch(`${bot.url}/health`);
    const { 'x-bot-id': _, ...headers } = headersOf('message_created');
    const refused = await fetch(bot.url, { method: 'POST', headers, body: '{}' });

    expect([health.status, await health.text()]).toEqual([200, 'ok']);
    expect([refused.status, await refused.json()]).toEqual([500, { error: expect.stringMatching(/^Missing bot/) }]);
  });

  it('returns errors of a bot', async () => {
    const bot = await serve('failing', sdk);

    const runtime = await call(bot, messageOf('runtime'));
    const error = await call(bot, messageOf('error'));

    const answers = {
      '0.10': [500, { error: 'told' }, 500, { error: 'boom' }],
      '5': [
        400,
        { id: expect.any(String), code: 400, type: 'Runtime', message: 'told' },
        400,
        { id: expect.any(String), code: 400, type: 'Runtime', message: 'An unexpected error occurred in the bot.' },
      ],
    };
    expect([runtime.status, await runtime.json(), error.status, await error.json()]).toEqual(answers[sdk]);
  });

  it('fails twice and works the third time', async () => {
    const bot = await serve('failing', sdk);

    const answers = [await call(bot, messageOf('twice')), await call(bot, messageOf('twice'))];
    const { status } = await call(bot, messageOf('twice'));

    expect([...answers.map(({ ok }) => ok), status]).toEqual([false, false, 200]);
    expect(calls()).toEqual([sent('answer: twice')]);
    expect(await bot.effects()).toHaveLength(3);
  });

  it('hangs for one message and answers another', async () => {
    const bot = await serve('failing', sdk);
    const abort = new AbortController();
    const hanging = call(bot, messageOf('hang', 'event-1'), abort.signal).then(
      () => 'answered',
      () => 'aborted',
    );
    await waitFor(async () => (await bot.effects()).length === 1);

    const { status } = await call(bot, messageOf('hello', 'event-2'));
    abort.abort();

    expect([status, await hanging]).toEqual([200, 'aborted']);
    expect((await bot.effects()).map(({ concurrent }) => concurrent)).toEqual([1, 2]);
  });

  it('crashes without an answer', async () => {
    const bot = await serve('failing', sdk);

    await expect(call(bot, messageOf('crash'))).rejects.toThrow('fetch failed');

    expect(await bot.ended).toBe(1);
    expect(await bot.effects()).toMatchObject([{ text: 'crash' }]);
  });

  it('continues at the same address with the effects of an earlier process', async () => {
    const first = await serve('echo', sdk);
    await call(first, messageOf('one'));
    await first.kill();

    const { port, effectsFile } = first;
    const second = await serveBot(await bundleBot('echo', sdk), { apiUrl: api.url, token, port, effectsFile });
    served.push(second);
    await call(second, messageOf('two'));

    expect(second.url).toBe(first.url);
    expect((await second.effects()).map(({ text }) => text)).toEqual(['one', 'two']);
  });

  it('handles recurring events', async () => {
    const bot = await serve('recurring', sdk);

    const worked = await call(bot, eventOf('tick', { fails: false }));
    const failed = await call(bot, eventOf('tick', { fails: true }));

    expect([worked.ok, failed.ok]).toEqual([true, false]);
    expect(await bot.effects()).toMatchObject([
      { type: 'tick', text: '{"fails":false}' },
      { type: 'tick', text: '{"fails":true}' },
    ]);
  });

  it('sets a state that expires, and handles its expiry', async () => {
    const bot = await serve('expiry', sdk);
    const state = { id: 'state-1', name: 'reminder', type: 'conversation', conversationId, payload: { text: 'tea' } };

    await call(bot, messageOf('remember 500'));
    const { status } = await call(bot, eventOf('state_expired', { state }));

    expect(status).toBe(200);
    expect(calls()).toEqual([
      {
        call: `POST /v1/chat/states/conversation/${conversationId}/reminder`,
        body: { payload: { text: 'remember 500' }, expiry: 500 },
      },
      sent('expired: tea'),
    ]);
    expect((await bot.effects()).map(({ type }) => type)).toEqual(['message_created', 'state_expired reminder']);
  });
});

describe('workflows of @botpress/sdk, generation 5', () => {
  it('starts workflows by a message', async () => {
    const bot = await serve('workflow', '5');

    for (const text of ['start 3', 'rebind 3', 'sleep 50', 'parent 0', 'timeout 50']) await call(bot, messageOf(text));

    expect(calls()).toEqual(
      ['counting', 'rebinding', 'sleeping', 'parent', 'impatient'].map((name) => ({
        call: 'POST /v1/chat/workflows',
        body: expect.objectContaining({ name, status: 'pending', conversationId }),
      })),
    );
  });

  it('counts in a workflow by continuations, which do not name their event', async () => {
    const bot = await serve('workflow', '5');
    const counting = { name: 'counting' };

    await call(bot, workflowUpdateOf('workflow_started', { ...counting, status: 'pending' }, 'event-1'));
    await call(bot, workflowUpdateOf('workflow_continued', { ...counting, output: { turns: 1 } }, 'event-2'));
    await call(bot, workflowUpdateOf('workflow_continued', { ...counting, output: { turns: 2 } }, 'event-3'));

    const update = (body: object) => ({ call: 'PUT /v1/chat/workflows/workflow-1', body });
    expect(calls()).toEqual([
      update({ status: 'in_progress', eventId: 'event-1' }),
      update({ output: { turns: 1 } }),
      update({ output: { turns: 2 } }),
      update({ status: 'completed', output: { turns: 3 } }),
      sent('counted to 3'),
    ]);
    expect((await bot.effects()).map(({ type, text }) => `${type} ${text}`)).toEqual([
      'counting workflow_started {}',
      'counting workflow_continued {"turns":1}',
      'counting workflow_continued {"turns":2}',
    ]);
  });

  it('names the event of each turn of a workflow', async () => {
    const bot = await serve('workflow', '5');

    await call(bot, workflowUpdateOf('workflow_continued', { name: 'rebinding', output: { turns: 1 } }));

    expect(calls()).toEqual([
      {
        call: 'PUT /v1/chat/workflows/workflow-1',
        body: { status: 'in_progress', eventId: 'event-1', output: { turns: 2 } },
      },
    ]);
  });

  it('sleeps in a workflow until an event of its own', async () => {
    const bot = await serve('workflow', '5');
    const sleeping = { name: 'sleeping', input: { value: 50 } };

    await call(bot, workflowUpdateOf('workflow_started', { ...sleeping, status: 'pending' }));
    await call(bot, eventOf('wake', {}));
    await call(bot, workflowUpdateOf('workflow_continued', sleeping));

    const update = (body: object) => ({ call: 'PUT /v1/chat/workflows/workflow-1', body });
    expect(calls()).toEqual([
      update({ status: 'in_progress', eventId: 'event-1' }),
      {
        call: 'POST /v1/chat/events',
        body: { type: 'wake', payload: {}, workflowId: 'workflow-1', schedule: { delay: 50 } },
      },
      update({ status: 'listening' }),
      update({ status: 'completed' }),
      sent('awake'),
    ]);
    expect((await bot.effects()).map(({ type }) => type)).toContain('wake');
  });

  it('waits in a workflow for a child', async () => {
    const bot = await serve('workflow', '5');
    const parent = { name: 'parent' };

    await call(bot, workflowUpdateOf('workflow_started', { ...parent, status: 'pending' }));
    const finished = await call(bot, workflowUpdateOf('child_workflow_finished', parent));
    await call(bot, workflowUpdateOf('workflow_continued', parent));

    expect(finished.status).toBe(200);
    expect(calls().map(({ body }) => body)).toEqual([
      { status: 'in_progress', eventId: 'event-1' },
      { name: 'child', status: 'pending', parentWorkflowId: 'workflow-1', conversationId, input: { value: 2 } },
      { status: 'listening' },
      { status: 'completed' },
      sent('child finished').body,
    ]);
  });

  it('handles the time-out of a workflow', async () => {
    const bot = await serve('workflow', '5');

    await call(bot, workflowUpdateOf('workflow_timedout', { name: 'impatient', status: 'timedout' }));

    expect(calls()).toEqual([sent('timed out')]);
  });
});
