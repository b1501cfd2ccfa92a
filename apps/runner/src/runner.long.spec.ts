import os from 'node:os';
import type { Client } from '@botpress/client';
import { strictDeployHeader } from '@parley/contracts/code';
import { actionDepthHeader } from '@parley/contracts/runtime/actions';
import { warningHeader } from '@parley/contracts/warning';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../admin/src/admin.module';
import { ChatConfig } from '../../chat/src/config';
import { ChatModule } from '../../chat/src/chat.module';
import { GatewayModule } from '../../gateway/src/gateway.module';
import { HubModule } from '../../hub/src/hub.module';
import { RuntimeConfig } from '../../runtime/src/config';
import { RuntimeModule } from '../../runtime/src/runtime.module';
import { RunnerConfig } from './config';
import { RunnerModule } from './runner.module';

let api: PublicApi;
let account: Account;
/** Address of the API for code: it hears what code does, and passes calls of the API on. */
let witness: LoopbackServer;

const idleMs = 1_500;
const processes = 4;

beforeAll(async () => {
  witness = await LoopbackServer.start(async (request, response) => {
    if (!request.path.startsWith('/v1/')) return json({})(request, response);
    const { authorization = '', 'x-bot-id': botId, [actionDepthHeader]: depth } = request.headers;
    const headers = { authorization, 'x-bot-id': String(botId), ...(depth && { [actionDepthHeader]: String(depth) }) };
    const answer = await api.send(`POST ${request.path}`, { headers, json: request.body as object });
    return json(answer.json, answer.status)(request, response);
  });
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig),
    configured(RunnerModule, RunnerConfig, {
      ...{ publicUrl: witness.url, contentUrl: witness.url, idleMs, processes, memoryMb: 96, isolation: 'process' },
    }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await witness?.close();
});

type Definition = Parameters<Client['createBot']>[0];

/** Code that tells the witness the text of each event, and answers like this. */
const telling = (text: string, answer = '{ status: 200 }') => `
  let calls = 0;
  exports.handler = async ({ headers, body }, context) => {
    if (headers['x-bp-operation'] !== 'event_received') return { status: 200 };
    calls += 1;
    const { event } = JSON.parse(body);
    await fetch('${witness.url}/' + event.id, { method: 'POST', body: JSON.stringify({ text: ${text}, calls, pid: process.pid }) });
    return ${answer};
  };`;

async function newBot(code: string, definition: Definition = {}) {
  const { bot } = await account.client.createBot({ code, ...definition });
  const client = api.client(account.token, account.workspaceId, bot.id);
  const settled = (id: string) =>
    waitFor(
      async () => (await client.getEvent({ id })).event,
      ({ status }) => status !== 'pending',
      30_000,
    );
  const create = async () => (await client.createEvent({ type: 'happened', payload: {} })).event.id;
  /** Messages of the code to the witness about a new event. */
  const told = async () => {
    const id = await create();
    const { status, failureReason } = await settled(id);
    const heard = witness.requests.filter(({ path }) => path === `/${id}`);
    return { status, failureReason, heard: heard.map(({ bytes }) => JSON.parse(bytes.toString()) as Heard) };
  };
  /** The first answer of another code: a delivery knows of a deployment after at most a second. */
  const toldBy = async (isMeant: (text: string) => boolean) => {
    const { heard } = await waitFor(told, ({ heard: [first] }) => first !== undefined && isMeant(first.text));
    return heard[0]!;
  };
  return { id: bot.id, client, settled, create, told, toldBy };
}

interface Heard {
  text: string;
  calls: number;
  pid: number;
}

const headersOf = ({ token, workspaceId }: Account, botId?: string) => ({
  ...{ authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId },
  ...(botId !== undefined && { 'x-bot-id': botId }),
});

const operator = () => ({ authorization: `Bearer ${api.operatorToken}` });

describe('code', () => {
  it('handles events by code in a process that stays', async () => {
    const bot = await newBot(telling(`'one'`));

    const [first, second] = [await bot.told(), await bot.told()];

    expect(first).toMatchObject({ status: 'processed', heard: [{ text: 'one', calls: 1 }] });
    expect(second).toMatchObject({ status: 'processed', heard: [{ text: 'one', calls: 2, pid: first.heard[0]!.pid }] });
  });

  it('passes secrets to code, and newer ones to a new process', async () => {
    const bot = await newBot(telling('process.env.SECRET_COLOR'), { secrets: { COLOR: 'blue' } });
    expect((await bot.told()).heard).toMatchObject([{ text: 'blue' }]);

    await account.client.updateBot({ id: bot.id, secrets: { COLOR: 'red' } });

    expect(await bot.toldBy((text) => text === 'red')).toMatchObject({ calls: 1 });
  });

  it('replaces code by a deployment', async () => {
    const bot = await newBot(telling(`'old'`));
    expect((await bot.told()).heard).toMatchObject([{ text: 'old' }]);

    await account.client.updateBot({ id: bot.id, code: telling(`'new'`) });

    expect(await bot.toldBy((text) => text === 'new')).toMatchObject({ calls: 1 });
  });

  it('refuses a strict deployment of code with the beginning of a long error', async () => {
    const { json } = await api.send('POST /v1/admin/bots', {
      headers: { ...headersOf(account), [strictDeployHeader]: 'true' },
      json: { code: `throw new Error('no license' + 'x'.repeat(1_000_000))` },
    });

    const { type, message } = json as { type: string; message: string };
    expect(type).toBe('Runtime');
    expect(message).toContain('no license');
    expect(message.length).toBeLessThan(10_000);
  });

  describe.each([
    ['cannot be loaded', `throw new Error('no license')`, 'no license'],
    ['has no handler', `exports.other = 1`, 'exports no handler'],
  ])('that %s', (_name, code, reason) => {
    it('creates a bot with code that cannot run, and tells it by an issue and in its log', async () => {
      const { bot } = await account.client.createBot({ code });

      await toldOf(bot.id, reason);
    });

    it('deploys code that cannot run with a warning, and tells it by an issue and in the log', async () => {
      const bot = await newBot(telling(`'former'`));
      expect((await bot.told()).heard).toMatchObject([{ text: 'former' }]);

      const json = { name: 'Renamed', code };
      const answer = await api.send(`PUT /v1/admin/bots/${bot.id}`, { headers: headersOf(account), json });

      expect(answer).toMatchObject({ status: 200, headers: { [warningHeader]: expect.stringContaining(reason) } });
      expect((await account.client.getBot({ id: bot.id })).bot.name).toBe('Renamed');
      await toldOf(bot.id, reason);
    });
  });

  /** Resolves once an issue and a line of the log of the bot have the reason. */
  async function toldOf(botId: string, reason: string): Promise<void> {
    const logs = () => account.client.getBotLogs({ id: botId, timeStart: new Date(Date.now() - 60_000).toISOString() });
    await waitFor(
      () => account.client.listBotIssues({ id: botId }),
      ({ issues }) => issues.some((issue) => issue.code === 'code_not_loadable' && issue.description.includes(reason)),
    );
    await waitFor(logs, (found) => found.logs.some(({ message }) => message.includes(reason)));
  }

  /** Resolves once the runtime calls code that cannot be loaded: the change reaches it by an event. */
  async function pinged(botId: string) {
    const { json } = await waitFor(
      () => api.send(`POST /operator/runtime/bots/${botId}/ping`, { headers: operator(), json: {} }),
      ({ json: { status } }) => status === null,
    );
    return json as object;
  }

  it('delivers an event to the code that is deployed after code that cannot be loaded, with the secrets of both', async () => {
    const bot = await newBot(telling(`'former'`), { secrets: { KEY: 'old' } });
    expect((await bot.told()).heard).toMatchObject([{ text: 'former' }]);
    await account.client.updateBot({ id: bot.id, code: `throw new Error('no license')`, secrets: { KEY: 'new' } });
    await pinged(bot.id);
    const event = await bot.create();
    // Three attempts end within seconds: the next one waits for the deployment, however long that takes.
    const retryIn = (minutes: number) =>
      api.sql(
        `UPDATE runtime.work SET due_at = now() + $2 * interval '1 minute'
         WHERE tenant = $1 AND state = 'waiting' AND last_error LIKE '%no license%' RETURNING 1`,
        [bot.id, minutes],
      );
    await waitFor(
      () => retryIn(5),
      (works) => works.length === 1,
    );

    await account.client.updateBot({ id: bot.id, code: telling('process.env.SECRET_KEY') });
    await retryIn(0);

    expect(await bot.settled(event)).toMatchObject({ status: 'processed' });
    const heard = witness.requests.filter(({ path }) => path === `/${event}`);
    expect(heard.map(({ bytes }) => JSON.parse(bytes.toString()))).toMatchObject([{ text: 'new' }]);
  });

  it('loads code with its secrets before it is deployed', async () => {
    const code = `if (process.env.SECRET_A + process.env.SECRET_B !== 'onetwo') throw new Error('not the secrets');${telling(`'secret'`)}`;
    const bot = await newBot(telling(`'former'`), { secrets: { A: 'one', B: 'three' } });
    const deploy = (json: object) =>
      api.send(`PUT /v1/admin/bots/${bot.id}`, { headers: headersOf(account), json: { code, ...json } });

    expect((await deploy({})).headers[warningHeader]).toMatch(/not the secrets/);
    expect((await deploy({ secrets: { B: 'two' } })).headers).not.toHaveProperty(warningHeader);

    expect((await bot.told()).heard).toMatchObject([{ text: 'secret' }]);
  });

  it('reports by a ping that code can no longer be loaded', async () => {
    const code = `if (process.env.SECRET_BROKEN) throw new Error('no license');${telling(`'fine'`)}`;
    const bot = await newBot(code);
    await account.client.updateBot({ id: bot.id, secrets: { BROKEN: 'yes' } });

    const ping = await pinged(bot.id);

    expect(ping).toMatchObject({ status: null, error: expect.stringContaining('no license') });
  });

  it('calls code that crashes again, in a new process', async () => {
    const bot = await newBot(
      telling(
        `'crash'`,
        `headers['x-bp-attempt'] === '1' ? setTimeout(() => { throw new Error('boom') }) && new Promise(() => {}) : { status: 200 }`,
      ),
    );

    const { status, heard } = await bot.told();

    expect(status).toBe('processed');
    expect(heard).toMatchObject([{ calls: 1 }, { calls: 1 }]);
    expect(heard[0]!.pid).not.toBe(heard[1]!.pid);
  });

  it('runs code that keeps ending its process after other code, with the lowest priority', async () => {
    const bot = await newBot(
      telling(
        `process.pid`,
        `body.includes('crash') && headers['x-bp-attempt'] < '3' ? setTimeout(() => { throw new Error('boom') }) && new Promise(() => {}) : { status: 200 }`,
      ),
    );
    const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = os.constants.priority;
    const priority = async () => os.getPriority((await bot.told()).heard[0]!.pid);
    expect(await priority()).toBe(Math.min(os.getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));

    const { event } = await bot.client.createEvent({ type: 'crash', payload: {} });
    await bot.settled(event.id);

    expect(await priority()).toBe(PRIORITY_LOW);
  });

  describe('whose processes end', () => {
    const schema = { type: 'object' };
    const actions = { try: { input: { schema }, output: { schema } } };
    const crash = `setTimeout(() => { throw new Error('boom') }) && new Promise(() => {})`;
    const tryAction = ({ client }: { client: Client }, input: object = {}) =>
      client.callAction({ type: 'try', input }).then(
        ({ output }) => JSON.stringify(output),
        (error: Error) => error.message,
      );

    it('pauses code that ends before it answers: actions fail at once, events wait for a deployment', async () => {
      const bot = await newBot(`exports.handler = () => ${crash}`, { actions });

      const reason = await waitFor(
        () => tryAction(bot),
        (answer) => answer.includes('pauses'),
      );

      expect(reason).toMatch(
        /^The code pauses, since \d+ of its processes in a row ended before they had answered a call: .*Error: boom/,
      );
      const id = await bot.create();
      const line = `GET /operator/runtime/bots/${bot.id}/deliveries?eventId=${id}`;
      const [parked] = await waitFor(
        async () => (await api.send(line, { headers: operator() })).json.deliveries,
        ([delivery]) => delivery?.status === 'parked',
      );
      expect(parked).toMatchObject({ reason: expect.stringContaining('The code pauses'), attempts: [] });
      const { issues } = await waitFor(
        () => account.client.listBotIssues({ id: bot.id }),
        (found) => found.issues.some(({ code }) => code === 'code_paused'),
      );
      expect(issues.find(({ code }) => code === 'code_paused')).toMatchObject({
        description: expect.stringContaining('Error: boom'),
      });
      const timeStart = new Date(Date.now() - 60_000).toISOString();
      const { logs } = await account.client.getBotLogs({
        id: bot.id,
        timeStart,
        messageContains: 'the next one starts',
      });
      expect(logs.length).toBeGreaterThan(0);

      await account.client.updateBot({ id: bot.id, code: telling(`'fine'`) });

      expect(await bot.settled(id)).toMatchObject({ status: 'processed' });
    });

    it('pauses code that ends by the memory limit after the second time', async () => {
      const leak = `new Promise(() => { const all = []; for (;;) all.push('x'.repeat(1e6) + all.length) })`;
      const bot = await newBot(`exports.handler = () => ${leak}`, { actions });

      expect(await tryAction(bot)).toContain('memory limit');
      expect(await tryAction(bot)).toContain('memory limit');
      expect(await tryAction(bot)).toMatch(/^The code pauses, since 2 of its processes in a row/);
    });

    it('does not pause code that ends once in a while and answers other calls', async () => {
      const answering = `headers['x-bp-operation'] === 'action_triggered' ? { status: 200, body: '{"output":{"fine":true}}' } : { status: 200 }`;
      const bot = await newBot(
        `exports.handler = async ({ headers, body }) => body.includes('crash') ? ${crash} : ${answering}`,
        { actions },
      );

      for (let time = 1; time <= 8; time += 1) {
        expect(await tryAction(bot)).toBe('{"fine":true}');
        expect(await tryAction(bot, { do: 'crash' })).toContain('The process of the code ended');
      }
    });

    it('pauses code that ends while it loads, and reports the reason by a ping', async () => {
      const bot = await newBot(`if (process.env.SECRET_BROKEN) throw new Error('no license');${telling(`'fine'`)}`);
      await account.client.updateBot({ id: bot.id, secrets: { BROKEN: 'yes' } });
      const ping = () => api.send(`POST /operator/runtime/bots/${bot.id}/ping`, { headers: operator(), json: {} });

      const { json: answer } = await waitFor(ping, ({ json: { error } }) => String(error).includes('pauses'));

      expect(answer).toMatchObject({ status: null, error: expect.stringContaining('no license') });
    });
  });

  it('fails the event of code that answers 400, with the reason and no second call', async () => {
    const bot = await newBot(
      telling(`'no'`, `{ status: 400, body: JSON.stringify({ type: 'Runtime', message: 'sold out' }) }`),
    );

    expect(await bot.told()).toMatchObject({ status: 'failed', failureReason: 'sold out', heard: [{ calls: 1 }] });
  });

  it('queues code of more bots than there are slots', async () => {
    const bots = await Promise.all(Array.from({ length: processes + 3 }, () => newBot(telling(`'many'`))));

    const all = await Promise.all(bots.map((bot) => bot.told()));

    expect(all).toEqual(bots.map(() => expect.objectContaining({ status: 'processed' }) as object));
    expect(all.flatMap(({ heard }) => heard)).toHaveLength(bots.length);
  });

  describe('that calls its own actions', () => {
    const schema = { type: 'object' };
    const requesting = {
      fetch: `(options, body) => fetch(url, { ...options, body }).then(async (answer) => ({ ok: answer.ok, text: await answer.text() }))`,
      'http.request': `(options, body) => new Promise((resolve, reject) => require('http').request(url, options, async (answer) => {
        let text = ''; for await (const part of answer) text += part; resolve({ ok: answer.statusCode === 200, text });
      }).on('error', reject).end(body))`,
    };
    const newChain = (by: keyof typeof requesting) =>
      newBot(
        `const url = process.env.BP_API_URL + '/v1/chat/actions', request = ${requesting[by]};
         exports.handler = async ({ headers, body }) => {
           const { input } = JSON.parse(body || '{}');
           if (!input) return { status: 200 };
           if (input.further === 0) return { status: 200, body: JSON.stringify({ output: { reached: true } }) };
           const { ok, text } = await request({
             method: 'POST',
             headers: { authorization: 'Bearer ' + process.env.BP_TOKEN, 'x-bot-id': headers['x-bot-id'], 'content-type': 'application/json' },
           }, JSON.stringify({ type: 'deeper', input: { further: input.further - 1 } }));
           const { output, message } = JSON.parse(text);
           return ok ? { status: 200, body: JSON.stringify({ output }) } : { status: 400, body: JSON.stringify({ type: 'Runtime', message }) };
         };`,
        { actions: { deeper: { input: { schema }, output: { schema } } } },
      );
    const callIn = ({ id }: { id: string }, further: number) =>
      api.send('POST /v1/chat/actions', {
        headers: { authorization: `Bearer ${account.token}`, 'x-bot-id': id },
        json: { type: 'deeper', input: { further } },
      });
    const reached = { output: { reached: true }, meta: { cached: false } };

    it.each(['fetch', 'http.request'] as const)('lets five calls wait for each other, by %s', async (by) => {
      const bot = await newChain(by);

      const [fifth, sixth] = [await callIn(bot, 4), await callIn(bot, 5)];

      expect(fifth.json).toEqual(reached);
      expect(sixth).toMatchObject({ status: 400, json: { type: 'Runtime' } });
      expect(sixth.json['message']).toContain(
        'The action "deeper" was not called: 5 actions wait for each other already',
      );
    });

    it('ends all calls of code although they use up the slots, and then continues', async () => {
      const bot = await newChain('fetch');

      const answers = await Promise.all(Array.from({ length: 12 }, () => callIn(bot, 4)));

      for (const { status, json: answer } of answers)
        if (status !== 200) expect(answer['message']).toMatch(/The process of the bot handles enough calls/);
      expect(answers.map(({ status }) => status)).not.toEqual(answers.map(() => 200));
      expect((await callIn(bot, 4)).json).toEqual(reached);
    });
  });

  it('ends code that fills its temporary folder, with the reason in its log and an issue', async () => {
    const bot = await newBot(telling(`'small'`));
    const reason = 'The temporary folder of the code exceeded its limit of 5,000 files.';
    // Folders count as files, and are made by one system call each.
    const filling = `for (let n = 0; n < 5100; n += 1) require('fs').mkdirSync(process.env.TMPDIR + '/' + n); for (;;);`;

    const json = { code: filling };
    const deployment = await api.send(`PUT /v1/admin/bots/${bot.id}`, { headers: headersOf(account), json });
    expect(deployment.headers[warningHeader]).toContain(reason);

    const { issues } = await waitFor(
      () => account.client.listBotIssues({ id: bot.id }),
      (found) => found.issues.length > 0,
    );
    const timeStart = new Date(Date.now() - 60_000).toISOString();
    const { logs } = await waitFor(
      () => account.client.getBotLogs({ id: bot.id, timeStart }),
      (found) => found.logs.length > 0,
    );
    expect(issues).toMatchObject([{ description: expect.stringContaining(reason) }]);
    expect(logs).toContainEqual(expect.objectContaining({ level: 'error', message: reason }));
  });

  it('delays code while the runner has no room for a temporary folder, and runs other code', async () => {
    const [warm, cold] = await Promise.all([newBot(telling(`'warm'`)), newBot(telling(`'cold'`))]);
    const [{ pid }] = (await cold.told()).heard as [Heard];
    await waitFor(() => !isAlive(pid));
    await warm.told();
    const folder = jest.spyOn(os, 'tmpdir').mockReturnValue('/dev/null');
    const id = await cold.create();
    const line = `GET /operator/runtime/bots/${cold.id}/deliveries?eventId=${id}`;
    const [parked] = await waitFor(
      async () => (await api.send(line, { headers: operator() })).json.deliveries,
      ([delivery]) => delivery?.status === 'parked',
    );
    expect(parked).toMatchObject({ reason: expect.stringMatching(/no temporary folder: .*ENOTDIR/) });
    expect((await warm.told()).heard).toMatchObject([{ text: 'warm' }]);

    folder.mockRestore();

    expect(await cold.settled(id)).toMatchObject({ status: 'processed' });
  });

  it('keeps no process of code when it is idle', async () => {
    const bot = await newBot(telling(`'idle'`));
    const [{ pid }] = (await bot.told()).heard as [Heard];
    expect(isAlive(pid)).toBe(true);

    await waitFor(
      () => isAlive(pid),
      (alive) => !alive,
    );
    expect((await bot.told()).heard).toMatchObject([{ calls: 1 }]);
  });
});

describe('the output of the code', () => {
  const timeStart = new Date(Date.now() - 60_000).toISOString();
  const logsOf = async ({ id }: { id: string }, isComplete: (messages: string[]) => boolean) => {
    const { logs } = await waitFor(
      () => account.client.getBotLogs({ id, timeStart }),
      (found) => isComplete(found.logs.map(({ message }) => message)),
    );
    return logs.reverse();
  };
  const printing = (statements: string) => `
    console.log('loading');
    exports.handler = async ({ headers, body }) => {
      if (headers['x-bp-operation'] !== 'event_received') return { status: 200 };
      const { event } = JSON.parse(body);
      ${statements}
      return { status: 200 };
    };`;

  it('writes output of the code to the logs of the bot, with the ids of its event', async () => {
    const bot = await newBot(
      printing(`
        console.log('plain text');
        console.info('two\\nlines');
        console.error(new Error('an error').stack);
        console.warn(JSON.stringify({ msg: 'structured', level: 'warn', options: { workflowId: 'workflow-1' } }));
        process.stdout.write('no line end');`),
    );
    const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
    const { event } = await bot.client.createEvent({ type: 'happened', payload: {}, conversationId: conversation.id });
    await bot.settled(event.id);

    const lines = await logsOf(bot, (messages) => messages.includes('no line end'));

    const conversationId = conversation.id;
    const about = { conversationId, eventId: event.id, traceId: expect.stringMatching(/^[0-9a-f]{32}$/) };
    expect(lines).toEqual(
      [
        { level: 'info', message: 'loading' },
        { level: 'info', message: 'plain text', ...about },
        { level: 'info', message: 'two\nlines', ...about },
        { level: 'error', message: expect.stringMatching(/^Error: an error\n +at /), ...about },
        { level: 'warn', message: 'structured', ...about, workflowId: 'workflow-1' },
        { level: 'info', message: 'no line end', ...about },
      ].map((line) => ({ timestamp: expect.any(String), ...line })),
    );
    expect(new Set(lines.slice(1).map((line) => (line as { traceId?: string }).traceId)).size).toBe(1);
  });

  it('reports why the code ended or could not be loaded', async () => {
    const crashing = await newBot(
      printing(`setTimeout(() => { throw new Error('boom at night') }); await new Promise(() => {});`),
    );
    const broken = await newBot(printing(''));
    const deployment = account.client.updateBot({ id: broken.id, code: `throw new Error('no license')` });
    await Promise.all([crashing.create(), deployment]);

    const [crash] = await logsOf(crashing, (messages) => messages.some((message) => message.includes('boom')));
    const isLoadError = (message: string) => message.includes('no license');
    const lines = await logsOf(broken, (messages) => messages.some(isLoadError));

    expect(crash).toMatchObject({ level: 'info', message: 'loading' });
    expect(lines.find(({ message }) => isLoadError(message))).toMatchObject({
      level: 'error',
      message: expect.stringMatching(/^The code cannot be loaded: Error: no license\n +at .*bot\.cjs:1:7/),
    });
  });

  it('refuses output that names another bot', async () => {
    const [bot, victim] = [
      await newBot(
        printing(
          `console.log(JSON.stringify({ msg: 'forged', level: 'info', botId: event.payload.botId, options: { botId: event.payload.botId } }));`,
        ),
      ),
      await newBot(printing('')),
    ];
    const { event } = await bot.client.createEvent({ type: 'happened', payload: { botId: victim.id } });
    await bot.settled(event.id);

    await logsOf(bot, (messages) => messages.includes('forged'));

    expect((await account.client.getBotLogs({ id: victim.id, timeStart })).logs).not.toEqual(
      expect.arrayContaining([expect.objectContaining({ message: 'forged' })]),
    );
  });
});

describe('the key of the code', () => {
  const saying = () => telling('process.env.BP_TOKEN');

  it('accepts the key of the code for its bot only, and does not list it', async () => {
    const bot = await newBot(saying());
    const other = await newBot(telling(`'other'`));
    const [{ text: token }] = (await bot.told()).heard as [Heard];
    const as = (botId: string) =>
      api.send('GET /v1/chat/events', { headers: { authorization: `Bearer ${token}`, 'x-bot-id': botId } });

    expect((await as(bot.id)).status).toBe(200);
    expect((await as(other.id)).status).toBe(403);
    expect((await account.client.listBotApiKeys({ botId: bot.id })).baks).toEqual([]);
  });

  it('issues another key to the code after a deployment, and soon ends the former one', async () => {
    const bot = await newBot(saying());
    const [{ text: former }] = (await bot.told()).heard as [Heard];

    await account.client.updateBot({ id: bot.id, code: `${saying()}// changed` });
    await bot.toldBy((text) => text !== former);

    const rows = await api.sql<{ valid_until: Date | null }>(
      'SELECT valid_until FROM admin.token WHERE bot_id = $1 ORDER BY valid_until NULLS LAST',
      [bot.id],
    );
    expect(rows).toEqual([{ valid_until: expect.any(Date) }, { valid_until: null }]);
    await api.sql(`UPDATE admin.token SET valid_until = now() WHERE bot_id = $1 AND valid_until IS NOT NULL`, [bot.id]);
    await waitFor(
      async () =>
        (await api.send('GET /v1/chat/events', { headers: { authorization: `Bearer ${former}`, 'x-bot-id': bot.id } }))
          .status,
      (status) => status === 401,
      30_000,
    );
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
