import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client as ChatClient } from '@botpress/chat';
import { clientOf } from '@parley/testing/api';
import { freePort } from '@parley/testing/free-port';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { NpmStart } from '@parley/testing/npm-start';
import { waitFor } from '@parley/testing/wait-for';
import type { Browser, Page } from 'playwright-core';
import { buildPages, hasBrowser, heading } from './browser';
import { openBrowser } from '@parley/testing/chromium';

const examples = join(process.cwd(), 'examples');
const packages = join(examples, 'node_modules');
const cli = join(packages, '@botpress/cli');
const bin = join(cli, 'bin.js');

let platform: NpmStart;
let home: string;
let credentials: Awaited<ReturnType<NpmStart['credentials']>>;
let tunnelPort: number;
let browser: Browser | undefined;
/** Console, signed in by the printed link. */
let consolePage: Page | undefined;

beforeAll(async () => {
  if (!existsSync(cli)) execFileSync('npm', ['ci'], { cwd: examples });
  if (hasBrowser) buildPages();
  tunnelPort = await freePort();
  platform = await NpmStart.create({ TUNNEL_PORT: String(tunnelPort), RUNNER_ALLOW_PRIVATE: 'true' });
  await platform.start();
  credentials = await platform.credentials();
  if (!hasBrowser) return;
  browser = await openBrowser();
  consolePage = await browser.newPage();
  await consolePage.goto(platform.consoleLink);
  await heading(consolePage, 'Overview');
});

afterAll(async () => {
  await browser?.close();
  await platform?.remove();
});

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'parley-cli-home-'));
});

afterEach(() => rm(home, { recursive: true, force: true }));

/** Runs one command non-interactively, with its own home folder. */
function bp(...args: string[]) {
  return bpIn(home, ...args);
}

async function bpIn(cwd: string, ...args: string[]) {
  const command = spawnIn(cwd, ...args);
  const [status] = (await once(command.child, 'close')) as [number | null];
  return { ...command.printed, status };
}

function spawnIn(cwd: string, ...args: string[]) {
  const child = spawn(process.execPath, [bin, ...args, '--botpressHome', home, '--confirm'], {
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      // The CLI asks this URL for a newer version of itself; the platform has none.
      npm_config_registry: credentials.url,
    },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Own process group, because the worker of `bp dev` outlives the command.
    detached: true,
  });
  const printed = { output: '', errors: '' };
  child.stdout.on('data', (data: Buffer) => (printed.output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (printed.errors += data.toString()));
  return { child, printed };
}

function login(token: string, workspaceId = credentials.workspaceId) {
  const { url } = credentials;
  return bp('login', '--token', token, '--workspaceId', workspaceId, '--apiUrl', url);
}

/** Project as `bp init` creates it from the template, with these files. */
async function project(template: string, files: Record<string, string>): Promise<string> {
  const folder = join(home, template);
  await cp(join(cli, 'templates', template), folder, {
    recursive: true,
    filter: (path) => !path.includes('.botpress'),
  });
  await symlink(packages, join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  return folder;
}

/** Visitor of a page of another origin that contains the snippet of a web chat. */
async function talkOnPage(snippet: string, text: string, answer: string): Promise<void> {
  const host = await LoopbackServer.start((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html>${snippet}`);
  });
  const page = await browser!.newPage();
  try {
    await page.goto(host.url);
    await page.getByRole('button', { name: 'Open the chat' }).click();
    await page.getByLabel('Write a message').fill(text);
    await page.getByLabel('Write a message').press('Enter');
    await page.getByRole('log').getByText(answer, { exact: true }).waitFor();
  } finally {
    await page.close();
    await host.close();
  }
}

/** Finds the event of the first message to a bot in the console, with the line that its code printed. */
async function readFirstEvent(page: Page, botId: string, line: string): Promise<void> {
  await page.getByRole('link', { name: 'Bots', exact: true }).click();
  await page.getByRole('row', { name: botId }).getByRole('link').click();
  await page.getByRole('link', { name: 'Conversations' }).click();
  await page.getByRole('table').getByRole('link').first().click();
  await page.getByRole('button', { name: 'Show events' }).first().click();
  await page
    .getByRole('row', { name: /message_created/ })
    .getByRole('button', { name: 'Show' })
    .click();
  const event = page.getByRole('dialog');
  await event.getByRole('table', { name: 'Event' }).getByText('processed').waitFor();
  const row = event.getByRole('table', { name: 'Log lines' }).getByRole('row', { name: line });
  await row.getByText(/^Trace [0-9a-f]{32}$/).waitFor();
}

describe('the published command line client against npm start', () => {
  it('logs in, creates a bot, lists it and deletes it', async () => {
    const loggedIn = await login(credentials.token);
    const created = await bp('bots', 'create', '--name', 'tea', '--json');
    const listed = await bp('bots', 'list', '--json');
    const { id } = JSON.parse(created.output) as { id: string };
    const deleted = await bp('bots', 'delete', id);
    const left = await bp('bots', 'list', '--json');

    expect(loggedIn).toMatchObject({ status: 0, output: expect.stringContaining('Logged In') as string });
    expect(created.status).toBe(0);
    expect(JSON.parse(listed.output)).toEqual([expect.objectContaining({ id, name: 'tea' })]);
    expect(deleted.status).toBe(0);
    expect(JSON.parse(left.output)).toEqual([]);
    await expect(clientOf(credentials).getBot({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('finds the built-in chat integration by name and version, and in the list', async () => {
    await login(credentials.token);

    const found = await bp('integrations', 'get', 'chat@1.0.0', '--json');
    const listed = await bp('integrations', 'list', '--json');

    expect(JSON.parse(found.output)).toMatchObject({ name: 'chat', version: '1.0.0', public: true });
    expect(JSON.parse(listed.output)).toEqual([expect.objectContaining({ name: 'chat' })]);
  });

  it('deploys an integration that implements an interface of the operator, and generates its types', async () => {
    const [name, version, handle] = ['hitl', '2.1.0', 'others'];
    const operator = clientOf(credentials);
    await operator.createInterface({ name, version, public: true });
    const { id: workspaceId } = await operator.createWorkspace({ name: 'Others' });
    await operator.updateWorkspace({ id: workspaceId, handle });
    const integration = await project('empty-integration', {
      'integration.definition.ts': `
        import { IntegrationDefinition, InterfaceDeclaration } from '@botpress/sdk'
        const implemented = new InterfaceDeclaration({ name: '${name}', version: '${version}' })
        export default new IntegrationDefinition({ name: 'desk', version: '0.0.1' }).extend(implemented, () => ({}))`,
    });
    const bot = await project('echo-bot', {});
    await login(credentials.token, workspaceId);

    const deployed = await bpIn(integration, 'deploy');
    const added = await bpIn(bot, 'add', `${handle}/desk@0.0.1`);

    const found = await bp('integrations', 'get', `${handle}/desk@0.0.1`, '--json');
    expect(deployed).toMatchObject({ status: 0, errors: '' });
    expect(JSON.parse(found.output)).toMatchObject({
      configuration: { schema: { type: 'object', properties: {} } },
      interfaces: { [`${name}<>`]: { name, version } },
    });
    expect(added).toMatchObject({ status: 0 });
    const types = join(bot, '.botpress', 'installations', `${handle}-desk`, 'configuration', 'index.ts');
    expect(await readFile(types, 'utf8')).toContain('export interface Configuration');
  });

  it('runs a bot of this machine by `bp dev`, which answers a message through the tunnel', async () => {
    const folder = await project('echo-bot', {
      'src/index.ts': `
        import { Bot } from '@botpress/sdk'
        import { Chat } from '../.botpress/installations/chat'
        const bot = new Bot({ integrations: { chat: new Chat({ enabled: true, config: {} }) } })
        bot.message(async ({ message: { conversationId, payload }, client, ctx }) => {
          const content = { type: 'text', payload: { text: 'echo: ' + payload.text }, tags: {} }
          await client.createMessage({ ...content, conversationId, userId: ctx.botId })
        })
        export default bot`,
    });
    await login(credentials.token);
    await bpIn(folder, 'add', 'chat@1.0.0');
    const tunnelUrl = `http://127.0.0.1:${tunnelPort}`;
    const { child, printed } = spawnIn(folder, 'dev', '--tunnelUrl', tunnelUrl, '--port', String(await freePort()));
    const ended = once(child, 'close');
    try {
      await waitFor(() => child.exitCode !== null || printed.output.includes('Dev Bot deployed'));
      const [, id] = /Dev Bot deployed with id "(.*)"/.exec(printed.output) ?? [];
      if (!id) throw new Error(`bp dev failed:\n${printed.output}${printed.errors}`);
      const { bot } = await clientOf(credentials).getBot({ id });
      const user = await ChatClient.connect({ apiUrl: Object.values(bot.integrations)[0]!.webhookUrl });
      const { conversation } = await user.createConversation({});

      await user.createMessage({ conversationId: conversation.id, payload: { type: 'text', text: 'tea' } });

      const { messages } = await waitFor(
        () => user.listMessages({ conversationId: conversation.id }),
        ({ messages: { length } }) => length === 2,
      );
      expect(messages[0]!.payload).toEqual({ type: 'text', text: 'echo: tea' });
      expect(bot.dev).toBe(true);
    } finally {
      if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL');
      await ended;
    }
  });

  it('deploys a bot whose code Parley runs, then a change of it', async () => {
    const source = (word: string) => `
      import { Bot, z } from '@botpress/sdk'
      import { Chat } from '../.botpress/installations/chat'
      const bot = new Bot({
        integrations: { chat: new Chat({ enabled: true, config: {} }) },
        states: { count: { type: 'conversation', schema: z.object({ heard: z.number() }) } },
      })
      bot.message(async ({ message: { conversationId, payload }, client, ctx }) => {
        console.log('heard ' + payload.text)
        if (payload.text === 'crash') setTimeout(() => { throw new Error('the kettle broke') })
        const key = { type: 'conversation', id: conversationId, name: 'count' } as const
        const { state } = await client.getOrSetState({ ...key, payload: { heard: 0 } })
        const heard = state.payload.heard + 1
        await client.setState({ ...key, payload: { heard } })
        const text = '${word} ' + payload.text + ' ' + heard + ' ' + process.env.SECRET_COLOR
        await client.createMessage({ conversationId, userId: ctx.botId, type: 'text', payload: { text }, tags: {} })
      })
      export default bot`;
    const folder = await project('echo-bot', { 'src/index.ts': source('first') });
    await login(credentials.token);
    await bpIn(folder, 'add', 'chat@1.0.0');
    const timeStart = new Date().toISOString();

    const created = await bpIn(folder, 'deploy', '--createNewBot');

    const [, id] = /Bot created with ID "(.*?)"/.exec(created.output) ?? [];
    if (!id) throw new Error(`bp deploy failed:\n${created.output}${created.errors}`);
    const client = clientOf(credentials, id);
    const { bot } = await client.updateBot({ id, secrets: { COLOR: 'blue' } });
    const user = await ChatClient.connect({ apiUrl: Object.values(bot.integrations)[0]!.webhookUrl });
    const { conversation } = await user.createConversation({});
    const say = async (text: string, answer: string) => {
      await user.createMessage({ conversationId: conversation.id, payload: { type: 'text', text } });
      await waitFor(
        () => user.listMessages({ conversationId: conversation.id }),
        ({ messages }) => messages.some(({ payload }) => (payload as { text?: string }).text === answer),
      );
    };
    await say('tea', 'first tea 1 blue');
    if (consolePage) {
      await readFirstEvent(consolePage, id, 'heard tea');
      const { code } = await client.getBotWebchat({ id, type: 'preconfigured' });
      await talkOnPage(code, 'coffee', 'first coffee 1 blue');
    }

    await writeFile(join(folder, 'src/index.ts'), source('second'));
    const changed = await bpIn(folder, 'deploy', '--botId', id);

    expect(changed).toMatchObject({ status: 0, errors: '' });
    await say('milk', 'second milk 2 blue');
    await user.createMessage({ conversationId: conversation.id, payload: { type: 'text', text: 'crash' } });
    const { logs } = await waitFor(
      () => client.getBotLogs({ id, timeStart, conversationId: undefined }),
      ({ logs: lines }) => lines.some(({ message }) => message.includes('the kettle broke')),
    );
    expect(logs).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ level: 'info', message: 'heard tea', conversationId: conversation.id }),
        expect.objectContaining({ level: 'error', message: expect.stringMatching(/^Error: the kettle broke\n +at /) }),
      ]),
    );
  });

  it('prints why the login was refused', async () => {
    const refused = await login(credentials.token.slice(0, -1));

    expect(refused.status).toBe(1);
    expect(refused.output + refused.errors).toContain('malformed or incomplete');
  });

  it('deploys the example integration, which connects a bot with a service in both directions', async () => {
    const examples = join(home, 'examples');
    await cp(join(__dirname, '../../examples'), examples, {
      recursive: true,
      filter: (path) => !path.includes('.botpress'),
    });
    await symlink(packages, join(home, 'node_modules'));
    const secret = 'a shared secret';
    const sign = (body: string | Buffer) => createHmac('sha256', secret).update(body).digest('hex');
    const service = await LoopbackServer.start((request, response) =>
      json(request.path === '/count' ? { messages: 3 } : { id: 'm-1' })(request, response),
    );
    try {
      const env = { PATH: process.env['PATH'], HOME: home, PARLEY_DATA_DIR: platform.dataDir };
      const args = [join(examples, 'deploy-http.mjs'), `${service.url}/`, secret];
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        env: { ...env, npm_config_registry: credentials.url },
      });
      const [, botId, webhookUrl] = /Deployed the bot (\S+)\. Its webhook is (\S+)/.exec(stdout)!;
      const send = async (text: string, signature?: string) => {
        const body = JSON.stringify({ type: 'message', id: text, conversation: 'c', user: 'u', text });
        const headers = { 'content-type': 'application/json', 'x-signature': signature ?? sign(body) };
        return (await fetch(webhookUrl!, { method: 'POST', headers, body })).status;
      };

      const statuses = [await send('Hello'), await send('How many?'), await send('Hello'), await send('x', 'forged')];

      expect(statuses).toEqual([200, 200, 200, 401]);
      const posted = () => service.requests.filter(({ path }) => path === '/messages');
      const messages = await waitFor(posted, ({ length }) => length === 3);
      expect(messages.map(({ body }) => body)).toEqual([
        { conversation: 'c', text: 'You said: Hello' },
        { conversation: 'c', text: 'You said: How many?' },
        { conversation: 'c', text: 'The service got 3 messages.' },
      ]);
      for (const { bytes, headers } of service.requests) expect(headers['x-signature']).toBe(sign(bytes));
      expect(service.requests[0]).toMatchObject({ path: '/connect', body: { webhookUrl } });
      const timeStart = new Date(Date.now() - 3_600_000).toISOString();
      await waitFor(
        () => clientOf(credentials, botId).getBotLogs({ id: botId!, timeStart }),
        ({ logs }) => logs.some(({ message }) => message === 'A request with a wrong signature was refused.'),
      );
      // Acknowledged by the integration with the id of the service.
      const alias = 'default/http';
      await waitFor(
        () => clientOf(credentials, botId).listMessages({ tags: { [`${alias}:id`]: 'm-1' } }),
        ({ messages: acknowledged }) => acknowledged.length === 3,
      );
      await clientOf(credentials).deleteBot({ id: botId! });
      await waitFor(() => service.requests.some(({ path }) => path === '/disconnect'));
    } finally {
      await service.close();
    }
  });
});
