import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import { type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';
import type { Browser, Page } from 'playwright-core';
import {
  browserSuite,
  buildPages,
  heading as headingOf,
  openBrowser,
  openPage,
  seriousViolations as violationsOf,
  signIn,
  takeScreenshot,
} from './browser';

// Takes 25 s: a platform, the build of the console and a browser.

browserSuite('the console in a browser', () => {
  let platform: RunningPlatform;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];
  const heading = (name: string) => headingOf(page, name);
  const seriousViolations = () => violationsOf(page);

  beforeAll(async () => {
    buildPages();
    [platform, browser] = await Promise.all([startEmbedded(), openBrowser()]);
    await createBotWithConversation(platform);
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

  it('lists the events of the bot', async () => {
    await page.getByRole('link', { name: 'Events' }).click();
    await heading('Events');
    await page.getByRole('cell', { name: 'greeted' }).waitFor();

    expect(await seriousViolations()).toEqual([]);
  });

  it('uploads several files, shows when they are indexed, and finds a passage', async () => {
    await page.getByRole('link', { name: 'Files' }).click();
    await heading('Files');
    const texts = ['The harbour master opens at seven.', 'Ferries leave at noon.', 'The lighthouse is white.'];
    await page
      .locator('input[type=file]')
      .setInputFiles(
        texts.map((text, index) => ({ name: `page-${index}.txt`, mimeType: 'text/plain', buffer: Buffer.from(text) })),
      );

    await page.getByRole('cell', { name: 'indexing completed' }).nth(2).waitFor();
    expect(await seriousViolations()).toEqual([]);
    await takeScreenshot(page, 'console-files');

    await page.getByRole('tab', { name: 'Search' }).click();
    await page.getByLabel('Question or words').fill('When does the harbour master open?');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('Rank 1, score').waitFor();
    expect(await seriousViolations()).toEqual([]);
    await takeScreenshot(page, 'console-search');
    await page.getByRole('link', { name: 'page-0.txt' }).first().click();
    await heading('page-0.txt');
    await page.getByText(texts[0]!).waitFor();
    expect(await seriousViolations()).toEqual([]);
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

  it('reports no error and sends no request to another origin', () => {
    expect(problems).toEqual([]);
  });
});

async function createBotWithConversation(platform: RunningPlatform): Promise<void> {
  const { bot } = await clientOf(platform).createBot({ name: 'Harbour bot' });
  const client = clientOf(platform, bot.id);
  const { user } = await client.createUser({ tags: {}, name: 'Ada' });
  const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
  const message = { conversationId: conversation.id, userId: user.id, tags: {} };
  await client.createMessage({ ...message, type: 'text', payload: { text: '<img src=x onerror=alert(1)>' } });
  const actions = [{ action: 'url', label: 'Evil', value: 'javascript:alert(1)' }];
  await client.createMessage({ ...message, type: 'card', payload: { title: 'Card', actions } });
  await client.createEvent({ type: 'greeted', payload: {} });
}
