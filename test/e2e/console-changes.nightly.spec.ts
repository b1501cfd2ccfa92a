import type { Client } from '@botpress/client';
import { newId } from '@parley/persistence/ids';
import { clientOf } from '@parley/testing/api';
import { ModelServer } from '@parley/testing/model-server';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { type Account, newAccount } from '@parley/testing/public-api';
import { type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';
import { createPlatformDatabase, queryDatabase } from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import { operatorToken } from '@parley/secrets/token';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import {
  browserSuite,
  buildPages,
  heading as headingOf,
  openPage,
  pasteToken,
  seriousViolations as violationsOf,
  takeScreenshot,
} from './browser';
import { openBrowser } from '@parley/testing/chromium';

// Takes 60 s: a platform, the build of the console and a browser.

const schema = {
  type: 'object',
  properties: { room: { type: 'string' }, seats: { type: 'number' }, isOpen: { type: 'boolean' } },
  required: ['room'],
};

browserSuite('changes by the console in a browser', () => {
  let platform: RunningPlatform;
  let browser: Browser;
  let page: Page;
  let owner: Client;
  let viewer: Account;
  let server: LoopbackServer;
  let database: { url: string; drop(): Promise<void> };
  const problems: string[] = [];

  beforeAll(async () => {
    buildPages();
    database = await createPlatformDatabase();
    [platform, browser] = await Promise.all([startEmbedded({ env: { DATABASE_URL: database.url } }), openBrowser()]);
    owner = clientOf(platform);
    const operator = operatorToken(platform.secretKey);
    viewer = await newAccount(platform.url, operator);
    await owner.createWorkspaceMember({ email: viewer.email, role: 'viewer' });
    await owner.createIntegration({
      name: 'harbour',
      version: '1.0.0',
      code: 'exports.handler = () => ({ status: 200 });',
      configuration: {
        schema,
        identifier: { linkTemplateScript: '"https://harbour.example/" + (to_string(.webhookId) ?? "none")' },
      },
    });
    page = await signIn(platform.token);
  });

  afterAll(async () => {
    await browser?.close();
    await platform?.stop();
    await server?.close();
    await database?.drop();
  });

  async function signIn(token: string, options?: BrowserContextOptions): Promise<Page> {
    const opened = await openPage(browser, platform, problems, options);
    await opened.goto(`${platform.url}/console`);
    await pasteToken(opened, token);
    await headingOf(opened, 'Overview');
    return opened;
  }

  const heading = (name: string, of = page) => headingOf(of, name);
  const seriousViolations = (of = page) => violationsOf(of);
  const button = (name: string, of: Page = page) => of.getByRole('button', { name, exact: true });
  const inDialog = () => page.getByRole('dialog');
  const dialogClosed = () => inDialog().waitFor({ state: 'detached' });
  const region = (name: string) => page.getByRole('region', { name, exact: true });

  async function fill(values: Record<string, string>): Promise<void> {
    for (const [label, value] of Object.entries(values)) await inDialog().getByLabel(label).fill(value);
  }

  async function confirm(name: string): Promise<void> {
    await inDialog().getByRole('button', { name, exact: true }).click();
    await dialogClosed();
  }

  const quayRequests = () =>
    server.requests.filter(({ headers }) => headers['x-bp-operation'] === 'event_received').length;
  const botOf = async (name: string) => {
    const { bots } = await owner.listBots({});
    const { id } = bots.find((bot) => bot.name === name)!;
    return (await owner.getBot({ id })).bot;
  };

  describe('of bots', () => {
    it('creates a bot in the console', async () => {
      await page.getByRole('link', { name: 'Bots', exact: true }).click();
      await page.getByText('No bots yet').waitFor();
      await button('Create a bot').click();
      await fill({ Name: 'Pier', Description: 'Watches the pier.' });
      expect(await seriousViolations()).toEqual([]);
      await inDialog().getByRole('button', { name: 'Create' }).click();
      await heading('Pier');

      expect(await botOf('Pier')).toMatchObject({ description: 'Watches the pier.' });
    });

    it('changes name, description and tags', async () => {
      await button('Edit the settings').click();
      await fill({ Name: 'Pier bot', Tags: 'team=north\nwithout value' });
      await inDialog().getByRole('button', { name: 'Save' }).click();
      await inDialog().getByText('The tag "without value" has no value').waitFor();
      await fill({ Tags: 'team=north\nshift=early' });
      await confirm('Save');
      await heading('Pier bot');
      await button('Edit the settings').click();
      await fill({ Tags: 'team=south' });
      await confirm('Save');
      await page.getByRole('cell', { name: 'south' }).waitFor();

      expect((await botOf('Pier bot')).tags).toEqual({ team: 'south' });
    });

    it('changes the web chat, and shows it meanwhile', async () => {
      await page.getByRole('link', { name: 'Web chat' }).click();
      await heading('Web chat');
      await page.getByText('<parley-webchat webhook-id=').waitFor();
      await page.getByLabel('Title').fill('Ask the pier');
      await page.getByLabel('Starting choices').fill('Hours | When do you open?');
      await region('Preview').getByRole('heading', { name: 'Ask the pier' }).waitFor();
      expect(await seriousViolations()).toEqual([]);
      await takeScreenshot(page, 'console-webchat');
      await page.getByLabel('Allowed origins').fill('www.example.com');
      await button('Save').click();
      await page.getByText('allowedOrigins must be a list of origins').waitFor();
      // A browser reports the refusal itself.
      expect(problems.splice(0)).toEqual([expect.stringContaining('400')]);
      await page.getByLabel('Allowed origins').fill('https://www.example.com');
      await button('Save').click();
      await page.getByText('Saved.').waitFor();

      const { webhookId } = Object.values((await botOf('Pier bot')).integrations)[0]!;
      const shown = await (await fetch(`${platform.url}/webchat/${webhookId}/settings`)).json();
      expect(shown).toMatchObject({
        title: 'Ask the pier',
        startingChoices: [{ label: 'Hours', value: 'When do you open?' }],
      });
      await page.getByRole('link', { name: 'Settings' }).click();
      await heading('Pier bot');
    });

    it('sets the budget of a bot, and shows its calls of models by day', async () => {
      const { id } = await botOf('Pier bot');
      const spread = { count: 3, sum: 600, squares: 120_000, min: 200, max: 200 };
      const figures = {
        ...{ calls: 4, errors: 1, inputTokens: 1_200, outputTokens: 30, latency: spread, tokensPerSecond: spread },
        cost: { count: 4, sum: 0.013, squares: 0.000_1, min: 0, max: 0.013 },
      };
      await queryDatabase(
        database,
        `INSERT INTO chat.model_use (bot_id, hour, calls, figures) VALUES ($1, date_trunc('hour', now()), 4, $2)`,
        [id, JSON.stringify(figures)],
      );
      await page.getByRole('link', { name: 'Models', exact: true }).click();
      await heading('Models');
      await button('Edit the budget').click();
      await fill({ 'US dollars a month': '0.5' });
      await confirm('Save');
      await page.getByRole('table', { name: 'Budget' }).getByText('$0.50').waitFor();
      await page.getByRole('table', { name: 'Budget' }).getByText('no limit').waitFor();

      const row = page.getByRole('table', { name: 'Use by day' }).getByRole('row').nth(1);
      const cells = await row.getByRole('cell').allInnerTexts();
      expect(cells.slice(1)).toEqual(['4', '1', '1,200', '30', '200 ms', '$0.013']);
      expect(await seriousViolations()).toEqual([]);
      const { usage } = await owner.getUsage({ id, type: 'ai_spend' });
      expect(usage.quota).toBe(0.5);
      await page.getByRole('link', { name: 'Settings', exact: true }).click();
      await heading('Pier bot');
    });

    it('sets a secret, of which it shows the name only, and deletes it', async () => {
      await button('Set a secret').click();
      await fill({ Name: 'API_KEY', Value: 'tide-is-high' });
      await confirm('Set');
      await region('Secrets').getByText('API_KEY').waitFor();
      expect((await botOf('Pier bot')).secrets).toEqual(['API_KEY']);
      expect(await page.content()).not.toContain('tide-is-high');

      await button('Delete API_KEY').click();
      await confirm('Delete the secret');
      await page.getByText('No secrets').waitFor();
      expect((await botOf('Pier bot')).secrets).toEqual([]);
    });

    it('shows a new API key once, and deletes it', async () => {
      await button('Create an API key').click();
      await fill({ Note: 'till' });
      await confirm('Create');
      const created = page.getByRole('alert', { name: 'The new API key' });
      const token = (await created.locator('pre').textContent())!;
      const { id } = await botOf('Pier bot');
      const withKey = clientOf({ ...platform, token }, id);
      await withKey.listConversations({});
      expect(await seriousViolations()).toEqual([]);
      await button('Done').click();
      await created.waitFor({ state: 'detached' });
      expect(await page.content()).not.toContain(token);

      await button('Delete till').click();
      await confirm('Delete the key');
      await page.getByText('No API keys').waitFor();
      await expect(withKey.listConversations({})).rejects.toMatchObject({ code: 401 });
    });

    it('rolls the code back to an earlier version', async () => {
      const { id } = await botOf('Pier bot');
      const codeOf = (status: number) => `exports.handler = () => ({ status: ${status}, body: '{}' });`;
      await owner.updateBot({ id, code: codeOf(200) });
      await page.reload();
      await page.getByLabel('Personal access token').fill(platform.token);
      await button('Sign in').click();
      await button('Name the current code').click();
      await fill({ Name: 'works' });
      await confirm('Create the version');
      await region('Versions').getByRole('cell', { name: 'works', exact: true }).waitFor();
      await owner.updateBot({ id, code: codeOf(400) });
      expect(await outcomeOfEvent(id)).toBe('failed');

      await button('Deploy works').click();
      await confirm('Deploy this version');

      expect(await outcomeOfEvent(id)).toBe('processed');
      await region('Versions').getByRole('cell', { name: 'works deployed', exact: true }).waitFor();
    });

    it('installs an integration, configures it, registers it again, and removes it', async () => {
      const installed = async () => (await botOf('Pier bot')).integrations;
      await button('Install an integration').click();
      await inDialog().getByRole('combobox', { name: 'Integration' }).click();
      await page.getByRole('option', { name: 'harbour 1.0.0' }).click();
      await inDialog().getByLabel('room').waitFor();
      await fill({ Alias: 'north', room: 'Lighthouse', seats: '4' });
      await inDialog().getByLabel('isOpen').check();
      expect(await seriousViolations()).toEqual([]);
      await confirm('Install');
      const row = region('Integrations').getByRole('row', { name: /^north/ });
      await row.getByText('registered').waitFor();
      expect(Object.values(await installed())).toMatchObject([
        {},
        { name: 'harbour', configuration: { room: 'Lighthouse', seats: 4, isOpen: true } },
      ]);

      await button('Configure north').click();
      await fill({ room: 'Cellar' });
      await confirm('Save');
      expect(Object.values(await installed())[1]!.configuration).toMatchObject({ room: 'Cellar', seats: 4 });

      await button('Register again north').click();
      await row.getByText('registered').waitFor();
      await button('Show north').click();
      const link = inDialog().getByRole('link', { name: 'Connect an account' });
      expect(await link.getAttribute('href')).toContain('https://harbour.example/');
      await page.keyboard.press('Escape');
      await dialogClosed();

      await button('Disable north').click();
      await row.getByText('no', { exact: true }).waitFor();
      await button('Remove north').click();
      await confirm('Remove the integration');
      await row.waitFor({ state: 'detached' });
      expect(Object.values(await installed())).toHaveLength(1);
    });

    it('deletes a bot after its name was typed', async () => {
      await button('Delete the bot').click();
      await inDialog().getByRole('button', { name: 'Delete the bot' }).click();
      expect((await owner.listBots({})).bots).toHaveLength(1);
      await fill({ 'Type "Pier bot" to confirm': 'Pier bot' });
      await inDialog().getByRole('button', { name: 'Delete the bot' }).click();
      await heading('Bots');
      await page.getByText('No bots yet').waitFor();

      expect((await owner.listBots({})).bots).toEqual([]);
    });

    it('lists a bot that was created elsewhere since the list was last shown', async () => {
      const { bot } = await owner.createBot({ name: 'Mole' });
      await page.getByRole('link', { name: 'Overview' }).click();
      await heading('Overview');

      await page.getByRole('link', { name: 'Bots', exact: true }).click();
      await page.getByRole('row', { name: bot.id }).waitFor();
      await owner.deleteBot({ id: bot.id });
    });

    async function outcomeOfEvent(botId: string): Promise<string> {
      const ofBot = clientOf(platform, botId);
      const { event } = await ofBot.createEvent({ type: 'tide', payload: {} });
      const settled = await waitFor(
        async () => (await ofBot.getEvent({ id: event.id })).event,
        ({ status }) => status !== 'pending',
      );
      return settled.status;
    }
  });

  describe('of conversations, events and files', () => {
    let isWorking = false;
    let botId: string;

    beforeAll(async () => {
      server = await LoopbackServer.start((request, response) => {
        const isEvent = request.headers['x-bp-operation'] === 'event_received';
        return json({ message: 'the tide is out' }, isEvent && !isWorking ? 400 : 200)(request, response);
      });
      const { bot } = await owner.createBot({
        name: 'Quay',
        url: server.url,
        states: {
          mood: { type: 'conversation', schema: { type: 'object', properties: { tone: { type: 'string' } } } },
        },
        conversation: { tags: { topic: {} } },
        user: { tags: { deck: {} } },
      });
      botId = bot.id;
      const client = clientOf(platform, botId);
      const { user } = await client.createUser({ name: 'Ada', tags: { deck: 'upper' } });
      const { conversation } = await client.createConversation({ channel: 'channel', tags: { topic: 'tides' } });
      await client.createConversation({ channel: 'channel', tags: { topic: 'ferries' } });
      await client.setState({
        ...{ type: 'conversation', id: conversation.id, name: 'mood' },
        payload: { tone: 'cheerful' },
      });
      await client.createMessage({
        ...{ conversationId: conversation.id, userId: user.id, tags: {} },
        ...{ type: 'text', payload: { text: 'When is high tide?' } },
      });
    });

    it('filters conversations by tag and day', async () => {
      await page.goto(`${platform.url}/console/w/${platform.workspaceId}/bots/${botId}/conversations`);
      await page.getByLabel('Personal access token').fill(platform.token);
      await button('Sign in').click();
      await heading('Conversations');
      await page.getByText('topic: ferries').waitFor();
      await page.getByLabel('Tag').fill('topic=tides');
      await page.getByLabel('Tag').press('Enter');
      await page.getByText('topic: ferries').waitFor({ state: 'detached' });
      await page.getByText('topic: tides').waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByLabel('Changed until').fill('2020-01-01');
      await page.getByText('No conversation matches these filters').waitFor();
      await page.getByLabel('Changed until').fill('');
      await page.getByText('topic: tides').waitFor();
    });

    it('shows participants with tags, and a state', async () => {
      await page.getByRole('table').getByRole('link').click();
      await region('Participants').getByText('deck: upper').waitFor();
      await button('Show the state mood').click();
      await inDialog().getByText('cheerful').waitFor();
      expect(await seriousViolations()).toEqual([]);
      await page.keyboard.press('Escape');
      await dialogClosed();
    });

    it('shows why the bot did not answer a message, and sends its event again', async () => {
      await button('Show events').click();
      await page
        .getByRole('row', { name: /message_created/ })
        .getByText('failed')
        .waitFor();
      await page
        .getByRole('row', { name: /message_created/ })
        .getByRole('button', { name: 'Show' })
        .click();
      await inDialog().getByRole('cell', { name: 'HTTP 400' }).waitFor();
      await inDialog().getByText('the tide is out').first().waitFor();
      expect(await seriousViolations()).toEqual([]);
      await takeScreenshot(page, 'console-event');

      isWorking = true;
      await inDialog().getByRole('button', { name: 'Send again' }).click();

      await inDialog().getByRole('cell', { name: 'HTTP 200' }).waitFor();
      await inDialog().getByRole('table', { name: 'Event' }).getByText('processed').waitFor();
      await page.keyboard.press('Escape');
      await dialogClosed();
    });

    it('indexes a file again that failed', async () => {
      const { file } = await clientOf(platform, botId).uploadFile({
        ...{ key: 'broken.pdf', content: 'This is no PDF.', contentType: 'application/pdf', index: true },
      });
      const current = async () => (await clientOf(platform, botId).getFile({ id: file.id })).file;
      await page.getByRole('link', { name: 'Files' }).click();
      await page.getByText('indexing failed').waitFor();
      const failed = await current();
      expect(await seriousViolations()).toEqual([]);

      await button('Index again broken.pdf').click();

      await waitFor(current, ({ updatedAt }) => updatedAt > failed.updatedAt);
      await page.getByText('indexing failed').waitFor();
    });
  });

  describe("of the operator's queues", () => {
    const sql = (text: string, values?: unknown[]) => queryDatabase<{ key: string }>(database, text, values);
    const keysOfWork = async () => (await sql('SELECT key FROM files.work ORDER BY key')).map(({ key }) => key);

    const selectService = async (name: string) => {
      await page.getByRole('combobox', { name: 'Service' }).click();
      await page.getByRole('option', { name, exact: true }).click();
    };

    // No request makes work fail at once or puts an event among the dead letters.
    beforeAll(async () => {
      for (const key of ['file_lost', 'file_spoilt'])
        await sql(
          `INSERT INTO files.work (queue, key, tenant, payload, state, attempts, last_error)
           VALUES ('files.cleanup', $1, 'bot_gone', $2, 'failed', 8, 'the disk was full')`,
          [key, { botId: 'bot_gone', fileId: key }],
        );
      await sql(
        `INSERT INTO events.work (queue, key, tenant, payload, state, attempts, last_error)
         VALUES ('admin.recordChange', 'evt_failed', '', '{}', 'failed', 5, 'the event was unreadable')`,
      );
      await sql(
        `INSERT INTO files.dead_letter (id, consumer, event_id, subject, data, attempts, reason)
         VALUES ($1, 'files.eraseBot', $2, 'admin.botDeleted', $3, 5, 'the database was away')`,
        [newId('dlq'), newId('evt'), { botId: 'bot_gone', workspaceId: 'wkspace_gone' }],
      );
    });

    it("shows the operator's queues on the overview, with events that wait for a bot unknown to the page", async () => {
      await page.getByRole('link', { name: 'Overview' }).click();
      await region('Waiting events and files').waitFor();
      const { bot } = await owner.createBot({ name: 'Slip', url: 'http://169.254.169.254/latest' });
      await clientOf(platform, bot.id).createEvent({ type: 'tide', payload: {} });
      await waitFor(
        () => sql(`SELECT key FROM runtime.work WHERE state = 'parked'`),
        ({ length }) => length === 1,
      );
      await region('Waiting events and files')
        .getByRole('row', { name: /^Slip 1 .*169\.254/ })
        .waitFor();
      const queues = region('Queues of the platform');
      await queues.getByRole('row', { name: /^files\.cleanup \d+ \d+ 2 / }).waitFor();
      await queues.getByText('Dead letters: 1').waitFor();
      expect(await seriousViolations()).toEqual([]);

      await queues.getByRole('link', { name: 'files.cleanup' }).click();
      await heading('Operator');
      await page.getByText('the disk was full').first().waitFor();
      expect(await page.getByRole('textbox', { name: 'Queue' }).inputValue()).toBe('files.cleanup');
    });

    it('retries and discards failed work', async () => {
      await page.getByRole('link', { name: 'Operator' }).click();
      await page.getByRole('textbox', { name: 'Queue' }).fill('');
      await page.getByRole('textbox', { name: 'Queue' }).press('Enter');
      await page.getByText('the disk was full').first().waitFor();
      await selectService('chat');
      await page.getByText('No work in this state').waitFor();
      await selectService('files');
      await page.getByText('the disk was full').first().waitFor();
      expect(await seriousViolations()).toEqual([]);
      await takeScreenshot(page, 'console-operator');
      await button('Show file_lost').click();
      await inDialog().getByRole('region', { name: 'Payload' }).getByText('bot_gone').waitFor();
      await page.keyboard.press('Escape');
      await dialogClosed();

      await button('Retry file_lost').click();
      await waitFor(keysOfWork, (keys) => !keys.includes('file_lost'));
      await button('Retry file_lost').waitFor({ state: 'detached' });
      expect(await keysOfWork()).toEqual(['file_spoilt']);
      await button('Discard file_spoilt').click();
      await confirm('Discard the work');
      await page.getByText('No work in this state').waitFor();
      expect(await keysOfWork()).toEqual([]);
    });

    it('shows deliveries of events to the services, and discards one', async () => {
      await selectService('admin');
      await page.getByText('the event was unreadable').waitFor();
      await button('Discard evt_failed').click();
      await confirm('Discard the work');

      await page.getByText('No work in this state').waitFor();
      expect(await sql(`SELECT key FROM events.work WHERE key = 'evt_failed'`)).toEqual([]);
    });

    it('shows rows that are due without a button that the service refuses', async () => {
      const row = { queue: 'chat.scheduledMessages', key: 'msg_late', state: 'ready', isDueRow: true };
      const work = [row, { ...row, key: 'bot_waiting', isDueRow: false }].map((each) => ({
        ...{
          tenant: 'bot_1',
          attempts: 0,
          lastError: null,
          dueAt: null,
          waitsFor: null,
          worker: null,
          orderingKey: null,
        },
        ...{ createdAt: new Date().toISOString(), ...each },
      }));
      await page.route('**/operator/chat/work?*', (route) => route.fulfill({ json: { work } }));
      await selectService('chat');

      await button('Show msg_late').waitFor();

      expect(await button('Discard bot_waiting').count()).toBe(1);
      expect(await button('Discard msg_late').count()).toBe(0);
      await page.unroute('**/operator/chat/work?*');
    });

    it('replays a dead letter', async () => {
      await page.getByRole('tab', { name: 'Dead letters' }).click();
      await page.getByText('the database was away').waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page
        .getByRole('row', { name: /files.eraseBot/ })
        .getByRole('button', { name: 'Replay' })
        .click();

      await page.getByText('No dead letters').waitFor();
    });

    it('shows the deliveries to a bot and the files that failed', async () => {
      const quay = await botOf('Quay');
      await page.getByRole('tab', { name: 'Deliveries' }).click();
      await page.getByText('No bot is chosen').waitFor();
      await page.getByLabel('Id of a bot').fill(quay.id);
      await button('Show').click();
      const row = page.getByRole('row', { name: /message_created/ });
      await row.getByText('processed').waitFor();
      expect(await seriousViolations()).toEqual([]);
      const before = quayRequests();
      await row.getByRole('button', { name: /^Replay/ }).click();
      await waitFor(
        () => quayRequests(),
        (after) => after > before,
      );

      await page.getByRole('tab', { name: 'Indexing' }).click();
      await page.getByRole('cell', { name: 'broken.pdf', exact: true }).waitFor();
      expect(await seriousViolations()).toEqual([]);
    });

    it('adds, tests, edits, orders and deletes providers of language models', async () => {
      const upstream = await ModelServer.start(['small', 'large']);
      const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name} `) });
      await page.getByRole('tab', { name: 'Language models' }).click();
      await button('Add a provider').click();
      await fill({ Name: 'local', Address: upstream.url, Key: 'sk-of-the-page', 'Requests a minute': '60' });
      expect(await seriousViolations()).toEqual([]);
      await confirm('Add');
      await row('local').getByText('60 a minute').waitFor();

      await button('Test local').click();
      await inDialog().getByText('lists 2 models: small, large').waitFor();
      await page.keyboard.press('Escape');
      await dialogClosed();
      await row('local').getByText('reachable').waitFor();

      await button('Edit local').click();
      expect(await inDialog().getByLabel('Key', { exact: true }).inputValue()).toBe('');
      await fill({ Models: '[{ "name": "mine", "upstream": "small" }]', 'Model for best': 'mine' });
      await confirm('Save');
      await row('local').getByText('mine').waitFor();
      await button('Add a provider').click();
      await fill({ Name: 'local', Address: 'http://127.0.0.1:1' });
      await inDialog().getByRole('button', { name: 'Add', exact: true }).click();
      await inDialog().getByText('There is a provider "local" already').waitFor();
      await fill({ Name: 'other', Address: 'http://127.0.0.1:1' });
      await confirm('Add');
      await button('Move other up').click();
      await button('Move other down').waitFor();
      expect(
        await sql('SELECT id, sealed_key IS NULL AS "isOpen", settings FROM models.provider ORDER BY position'),
      ).toEqual([
        { id: 'other', isOpen: true, settings: expect.any(Object) },
        {
          ...{ id: 'local', isOpen: false },
          settings: expect.objectContaining({
            models: [{ name: 'mine', upstream: 'small' }],
            roles: { best: 'mine' },
            rate: 60,
          }),
        },
      ]);
      await button('Test other').click();
      await inDialog().getByText('cannot be reached').waitFor();
      await page.keyboard.press('Escape');
      await dialogClosed();
      expect(await seriousViolations()).toEqual([]);

      for (const name of ['other', 'local']) {
        await button(`Delete ${name}`).click();
        await confirm('Delete the provider');
        await row(name).waitFor({ state: 'detached' });
      }
      expect(await page.content()).not.toContain('sk-of-the-page');
      await upstream.stop();
    });

    it('counts storage, indexes rows again, and says what the next model lacks', async () => {
      await page.getByRole('tab', { name: 'Storage and search index' }).click();
      await button('Count again').click();
      await page.getByText(/bots counted, 0 counts corrected/).waitFor();
      await button('Index the rows again').click();
      await page.getByText('0 rows of 0 searchable tables wait to be indexed.').waitFor();
      await button('Drop former models').click();
      await confirm('Delete the vectors');
      await page.getByText('There were no former models.').waitFor();
      await button('Fill the index').click();
      await page.getByText('No next embedding model is configured').waitFor();
      expect(await seriousViolations()).toEqual([]);
    });
  });

  it('offers no change to a viewer, and no page of the operator', async () => {
    const quay = await botOf('Quay');
    const pageOfViewer = await signIn(viewer.token);
    const goTo = async (path: string, name: string) => {
      await pageOfViewer.goto(`${platform.url}/console/w/${platform.workspaceId}${path}`);
      await pasteToken(pageOfViewer, viewer.token);
      await heading(name, pageOfViewer);
    };
    const changes = /^(create|edit|delete|install|configure|remove|disable|register|deploy|set a|send|index|name the)/i;

    await goTo('', 'Overview');
    await pageOfViewer.getByRole('row', { name: /^Slip 1 .*169\.254/ }).waitFor();
    expect(await pageOfViewer.getByText('Queues of the platform').count()).toBe(0);
    for (const [path, name, shown] of [
      ['/bots', 'Bots', 'Quay'],
      [`/bots/${quay.id}`, 'Quay', 'No secrets'],
      [`/bots/${quay.id}/files`, 'Files', 'broken.pdf'],
    ] as const) {
      await goTo(path, name);
      await pageOfViewer.getByText(shown).first().waitFor();
      await button(viewer.email, pageOfViewer).click();
      await pageOfViewer.getByText('Role: viewer').waitFor();
      await pageOfViewer.keyboard.press('Escape');
      expect(await pageOfViewer.getByRole('button', { name: changes }).allTextContents()).toEqual([]);
      expect(await pageOfViewer.getByRole('link', { name: 'Operator' }).count()).toBe(0);
    }
    await goTo('/operator', 'Operator');
    await pageOfViewer.getByText('This page is for operators').waitFor();
    expect(await seriousViolations(pageOfViewer)).toEqual([]);
  });

  it('shows pages in the dark and on a phone', async () => {
    const quay = await botOf('Quay');
    const context = { colorScheme: 'dark', viewport: { width: 390, height: 800 } } as const;
    const onPhone = await signIn(platform.token, context);
    for (const [path, shown] of [
      ['', 'Files that wait for long: 0'],
      ['/bots', 'Quay'],
      [`/bots/${quay.id}`, 'No API keys'],
      [`/bots/${quay.id}/events`, 'message_created'],
      ['/operator', 'No work in this state'],
    ] as const) {
      await onPhone.goto(`${platform.url}/console/w/${platform.workspaceId}${path}`);
      await pasteToken(onPhone, platform.token);
      await onPhone.getByText(shown).first().waitFor();
      expect(await seriousViolations(onPhone)).toEqual([]);
      expect(await onPhone.evaluate('document.documentElement.scrollWidth')).toBe(390);
    }
  });

  it('reports no error and sends no request to another origin while data is changed', () => {
    expect(problems).toEqual([]);
  });
});
