import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import { type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';
import type { Browser, Page } from 'playwright-core';
import {
  browserSuite,
  buildPages,
  heading as headingOf,
  openPage,
  seriousViolations as violationsOf,
  signIn,
  takeScreenshot,
} from './browser';
import { openBrowser } from '@parley/testing/chromium';

// Takes 25 s: a platform, the build of the console and a browser.

browserSuite('the console in a browser', () => {
  let platform: RunningPlatform;
  let browser: Browser;
  let page: Page;
  let botId: string;
  const problems: string[] = [];
  const heading = (name: string) => headingOf(page, name);
  const seriousViolations = () => violationsOf(page);

  beforeAll(async () => {
    buildPages();
    [platform, browser] = await Promise.all([startEmbedded(), openBrowser()]);
    botId = await createBotWithConversation(platform);
    page = await openPage(browser, platform, problems);
  });

  afterAll(async () => {
    await browser?.close();
    await platform?.stop();
  });

  it('signs in by the printed link, whose code leaves the address bar', async () => {
    await signIn(page, platform);

    expect(page.url()).not.toContain('code=');
    expect(await seriousViolations()).toEqual([]);
    await takeScreenshot(page, 'console-overview');
  });

  it('shows the bots, and a transcript in which nothing of a message runs', async () => {
    await page.getByRole('link', { name: 'Bots', exact: true }).click();
    await heading('Bots');
    expect(await seriousViolations()).toEqual([]);

    await page.getByRole('table').getByRole('link', { name: 'Harbour bot' }).click();
    await heading('Harbour bot');
    expect(await seriousViolations()).toEqual([]);

    await page.getByRole('link', { name: 'Conversations' }).click();
    await page.getByRole('table').getByRole('link').click();
    const transcript = page.getByRole('log');
    await transcript.getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await transcript.locator('img').count()).toBe(0);
    expect(await transcript.locator('a[href^="javascript"]').count()).toBe(0);
    expect(await seriousViolations()).toEqual([]);
    await takeScreenshot(page, 'console-conversation');
  });

  it('talks to the bot by the public client, and leads to the transcript', async () => {
    // The page asks for the client as soon as it is shown, perhaps before its heading is seen.
    const client = page.waitForRequest('**/webchat/assets/*');
    await page.getByRole('link', { name: 'Talk to the bot' }).click();
    await heading('Talk to the bot');
    await page.getByLabel('Write a message').fill('When do you open?');
    await page.getByLabel('Write a message').press('Enter');
    const link = page.getByRole('link', { name: 'Transcript with events' });
    const conversationId = (await link.getAttribute('href'))!.split('/').at(-1)!;
    expect(new URL((await client).url()).origin).toBe(platform.url);
    const message = { conversationId, userId: botId, tags: {}, type: 'text', payload: { text: 'At seven.' } };
    await clientOf(platform, botId).createMessage(message);
    await page.getByRole('log', { name: 'Messages' }).getByText('At seven.', { exact: true }).waitFor();
    expect(await seriousViolations()).toEqual([]);

    await link.click();
    await page.getByRole('log', { name: 'Transcript' }).getByText('When do you open?').waitFor();
  });

  it('lists the events of the bot', async () => {
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await heading('Events');
    await page.getByRole('cell', { name: 'greeted' }).waitFor();

    expect(await seriousViolations()).toEqual([]);
  });

  it('uploads ten files, shows when they are indexed, and finds a passage beside its text', async () => {
    await page.getByRole('link', { name: 'Files' }).click();
    await heading('Files');
    const ferries = Array.from({ length: 8 }, (_ferry, index) => `Ferry ${index} leaves at noon.`);
    const texts = ['The harbour master opens at seven.', 'The lighthouse is white.', ...ferries];
    await page
      .locator('input[type=file]')
      .setInputFiles(
        texts.map((text, index) => ({ name: `page-${index}.txt`, mimeType: 'text/plain', buffer: Buffer.from(text) })),
      );

    await page.getByRole('cell', { name: 'indexing completed' }).nth(9).waitFor();
    expect(await seriousViolations()).toEqual([]);
    await takeScreenshot(page, 'console-files');

    await page.getByRole('tab', { name: 'Search' }).click();
    await page.getByLabel('Question or words').fill('When does the harbour master open?');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('Rank 1, score').waitFor();
    await page.getByText(/Nonsense hardly reaches 0\.\d+\./).waitFor();
    expect(await seriousViolations()).toEqual([]);
    await takeScreenshot(page, 'console-search');
    await page.getByRole('link', { name: 'page-0.txt' }).first().click();
    await heading('page-0.txt');
    await page.getByRole('region', { name: 'Passages' }).getByText(texts[0]!).waitFor();
    await page.getByRole('region', { name: 'Text of the file' }).getByText(texts[0]!).waitFor();
    expect(await seriousViolations()).toEqual([]);
  });

  it('keeps questions, asks them, and shows figures, misses and the change since the run before', async () => {
    const before = problems.length;
    const questions = [
      { question: 'When does the harbour master open?', file: 'page-0.txt' },
      { question: 'Who feeds the seals?', file: 'seals.txt', passage: 'feeds the seals' },
    ];
    await page.getByRole('link', { name: 'Files', exact: true }).click();
    await page.getByRole('tab', { name: 'Evaluation' }).click();
    const panel = page.getByRole('tabpanel', { name: 'Evaluation' });
    await panel.getByText('No questions').waitFor();
    const buffer = Buffer.from(JSON.stringify(questions));
    await panel.locator('input[type=file]').setInputFiles({ name: 'q.json', mimeType: 'application/json', buffer });
    const ask = panel.getByRole('button', { name: 'Ask 2 questions' });
    await ask.click();
    const rowsOf = (table: string) => panel.getByRole('table', { name: table }).getByRole('row').allInnerTexts();
    const cellsOf = async (table: string) => (await rowsOf(table)).slice(1).map((row) => row.split(/\s*\t\s*/));
    await panel.getByRole('table', { name: 'Figures' }).waitFor();

    expect(await cellsOf('Figures')).toEqual([
      ['In first place (hit@1)', '0.500', '–', '–'],
      ['Among the first five (hit@5)', '0.500', '–', '–'],
      ['Mean reciprocal rank', '0.500', '–', '–'],
    ]);
    expect(await cellsOf('Not among the first five')).toEqual([['Who feeds the seals?', 'absent', 'seals.txt']]);
    const client = clientOf(platform, botId);
    const content = 'The warden feeds the seals at three.';
    const { file } = await client.uploadFile({ key: 'seals.txt', content, index: true });
    await waitFor(
      () => client.getFile({ id: file.id }),
      (found) => found.file.status === 'indexing_completed',
    );
    await ask.click();
    await panel.getByText('Each question has an answer among the first five.').waitFor();

    expect(await cellsOf('Figures')).toEqual([
      ['In first place (hit@1)', '1.000', '0.500', '+0.500'],
      ['Among the first five (hit@5)', '1.000', '0.500', '+0.500'],
      ['Mean reciprocal rank', '1.000', '0.500', '+0.500'],
    ]);
    expect(await cellsOf('Changed places')).toEqual([['Who feeds the seals?', 'absent', '1']]);
    expect(await seriousViolations()).toEqual([]);
    // A browser reports files that are not there yet: questions and the last run, which is read again.
    expect(problems.splice(before)).toEqual(Array(3).fill(expect.stringContaining('status of 404')));
  });

  it('shows the issues of the bot, and its logs, also live', async () => {
    await page.getByRole('link', { name: 'Issues' }).click();
    await heading('Issues');
    await page.getByText('No issues').waitFor();

    await page.getByRole('link', { name: 'Logs' }).click();
    await heading('Logs');
    await page.getByText('No log lines').waitFor();
    expect(await seriousViolations()).toEqual([]);
    await page.getByLabel('Live').check({ force: true });
    await page.getByText('Waiting for the next line of the bot').waitFor();
  });

  it('offers uploaded files that contain scripts only as downloads', async () => {
    const other = await page.context().newPage();
    await page.getByRole('link', { name: 'Files', exact: true }).click();
    await page.locator('input[type=file]').setInputFiles(hostileFiles);
    for (const { name } of hostileFiles) {
      await page.getByRole('link', { name: 'Files', exact: true }).click();
      await page.getByRole('table').getByRole('link', { name }).click();
      await heading(name);
      const url = await page.getByRole('link', { name: 'Open' }).getAttribute('href');

      await expect(other.goto(url!)).rejects.toThrow('Download is starting');
    }
    await other.close();
  });

  it('keeps its session from a script in the answer of a webhook, in the same tab', async () => {
    const webhookUrl = await installHostileWebhook(platform, botId);
    await page.getByRole('button', { name: 'admin@parley.local' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Keep me signed in in this tab' }).click();
    expect(await page.evaluate(`sessionStorage.getItem('parley.session')`)).toContain('bp_pat_');
    const before = [page.url(), problems.length] as const;

    await page.goto(webhookUrl);
    const tried = await waitFor(
      () => page.title(),
      (title) => title.startsWith('{'),
    );

    expect(JSON.parse(tried)).toEqual({
      origin: 'null',
      session: 'SecurityError',
      local: 'SecurityError',
      account: 401,
    });
    problems.splice(before[1]);
    await page.goto(before[0]);
    await page.getByRole('button', { name: 'admin@parley.local' }).waitFor();
  });

  it('signs out, which revokes the token', async () => {
    await page.getByRole('button', { name: 'admin@parley.local' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();

    await waitFor(
      () => clientOf(platform).listPersonalAccessTokens({}),
      ({ pats }) => pats.every(({ note }) => note !== 'Console'),
    );
    expect(await seriousViolations()).toEqual([]);
  });

  it('reports no error and sends no request to another origin in the pages of a bot', () => {
    expect(problems).toEqual([]);
  });
});

const script = "document.title = 'the script ran'";
const hostileFiles = [
  { name: 'page.html', mimeType: 'text/html', buffer: Buffer.from(`<script>${script}</script>`) },
  {
    ...{ name: 'picture.svg', mimeType: 'image/svg+xml' },
    buffer: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg"><script>${script}</script></svg>`),
  },
];

/** Tells in the title of the page what the script could reach. */
const attack = `(async () => {
  const tell = (attempt) => attempt.catch(({ name }) => name);
  document.title = JSON.stringify({
    origin: self.origin,
    session: await tell((async () => sessionStorage.getItem('parley.session'))()),
    local: await tell((async () => localStorage.length)()),
    account: await tell(fetch('/v1/admin/account/me', { credentials: 'include' }).then(({ status }) => status)),
  });
})()`;

/** Address of a webhook that answers with a page. */
async function installHostileWebhook(platform: RunningPlatform, botId: string): Promise<string> {
  const client = clientOf(platform);
  const answer = { status: 200, headers: { 'content-type': 'text/html' }, body: `<script>${attack}</script>` };
  const code = `exports.handler = async ({ headers }) =>
    headers['x-bp-operation'] === 'webhook_received' ? ${JSON.stringify(answer)} : { status: 200 };`;
  const { integration } = await client.createIntegration({ name: 'hostile', version: '1.0.0', code });
  const { bot } = await client.updateBot({ id: botId, integrations: { [integration.id]: { enabled: true } } });
  return Object.values(bot.integrations).find(({ name }) => name === 'hostile')!.webhookUrl;
}

async function createBotWithConversation(platform: RunningPlatform): Promise<string> {
  const { bot } = await clientOf(platform).createBot({ name: 'Harbour bot' });
  const client = clientOf(platform, bot.id);
  const { user } = await client.createUser({ tags: {}, name: 'Ada' });
  const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
  const message = { conversationId: conversation.id, userId: user.id, tags: {} };
  await client.createMessage({ ...message, type: 'text', payload: { text: '<img src=x onerror=alert(1)>' } });
  const actions = [{ action: 'url', label: 'Evil', value: 'javascript:alert(1)' }];
  await client.createMessage({ ...message, type: 'card', payload: { title: 'Card', actions } });
  await client.createEvent({ type: 'greeted', payload: {} });
  return bot.id;
}
