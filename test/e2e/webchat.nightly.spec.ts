import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { freePort } from '@parley/testing/free-port';
import { LoopbackServer } from '@parley/testing/loopback-server';
import { sendTo } from '@parley/testing/public-api';
import { type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';
import { createPlatformDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import type { Browser, Locator, Page, Request } from 'playwright-core';
import { browserSuite, buildPages, seriousViolations as violationsOf, takeScreenshot } from './browser';
import { openBrowser } from '@parley/testing/chromium';

// Takes 25 s: two starts of a platform, the build of the widget and a browser.

/** Compressed. The public client is a module of its own, which no page waits for before its first paint. */
const maxBytes = { widget: 60_000, client: 54_000 };
/** PNG in Base64. */
const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
const widget = "document.querySelector('parley-webchat')";

browserSuite('the web chat on a page of another origin', () => {
  let folder: string;
  let database: EmptyDatabase;
  let env: Record<string, string>;
  let platform: RunningPlatform;
  let host: LoopbackServer;
  let browser: Browser;
  let page: Page;
  let bot: Client;
  let webhookId: string;
  let expectsFailures = false;
  const problems: string[] = [];
  /** Streams of signals that were opened while the server was away, or later, and are open. */
  const streams = new Set<Request>();

  beforeAll(async () => {
    buildPages();
    folder = await mkdtemp(join(tmpdir(), 'parley-webchat-'));
    database = await createPlatformDatabase();
    env = { PORT: String(await freePort()), DATABASE_URL: database.url };
    [platform, browser] = await Promise.all([startEmbedded({ env, dataDir: folder }), openBrowser()]);
    const created = (await clientOf(platform).createBot({ name: 'Harbour bot' })).bot;
    bot = clientOf(platform, created.id);
    webhookId = Object.values(created.integrations)[0]!.webhookId;
    await sendTo(platform.url, `PUT /v1/admin/bots/${created.id}/webchat/settings`, {
      headers: { authorization: `Bearer ${platform.token}`, 'x-workspace-id': platform.workspaceId },
      json: {
        title: 'Harbour',
        greeting: 'Ahoy!',
        startingChoices: [{ label: 'Hours', value: 'When do you open?' }],
        allowsUploads: true,
      },
    });
    host = await LoopbackServer.start((_request, response) => {
      // Scripts, requests and images of the platform only: no inline style.
      const policy = `default-src 'none'; script-src ${platform.url}; connect-src ${platform.url}; img-src ${platform.url}; media-src https:`;
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy }).end(`
        <!doctype html><html lang="en"><head><title>Harbour</title></head><body><h1>Harbour of Kiel</h1><p>Berths for every boat.</p>
        <script type="module" src="${platform.url}/webchat/embed.js"></script>
        <parley-webchat webhook-id="${webhookId}"></parley-webchat></body></html>`);
    });
    const context = await browser.newContext();
    await context.addCookies([{ name: 'XSRF-TOKEN', value: 'secret of the page', url: host.url }]);
    page = await openPage();
  });

  afterAll(async () => {
    await browser?.close();
    await host?.close();
    await platform?.stop();
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Page of a new tab. The browser has one visitor. */
  async function openPage(viewport?: { width: number; height: number }): Promise<Page> {
    const opened = await browser.contexts()[0]!.newPage();
    if (viewport) await opened.setViewportSize(viewport);
    opened.on('console', (message) => {
      // A browser reports each request that fails, such as those for media that do not exist.
      const isExpected = expectsFailures || /404|ERR_NAME_NOT_RESOLVED/.test(message.text());
      if (message.type() === 'error' && !isExpected) problems.push(message.text());
    });
    opened.on('pageerror', ({ message }) => problems.push(message));
    opened.on('request', (request) => {
      if ('x-xsrf-token' in request.headers()) problems.push(`${request.url()} got a secret of the page`);
      if (request.url().endsWith('/listen')) streams.add(request);
    });
    opened.on('requestfinished', (request) => streams.delete(request));
    opened.on('requestfailed', (request) => streams.delete(request));
    await opened.goto(host.url);
    return opened;
  }

  const transcript = (of = page): Locator => of.getByRole('log', { name: 'Messages' });
  const said = (text: string, of = page) => transcript(of).getByText(text, { exact: true }).waitFor();
  const texts = async (of = page) => (await transcript(of).locator('.message').allInnerTexts()).map(withoutSpeaker);

  async function write(text: string, of = page): Promise<void> {
    await of.getByLabel('Write a message').fill(text);
    await of.getByLabel('Write a message').press('Enter');
  }

  async function conversation(): Promise<{ conversationId: string }> {
    const { conversations } = await waitFor(
      () => bot.listConversations({}),
      (found) => found.conversations.length > 0,
    );
    return { conversationId: conversations[0]!.id };
  }

  async function answer(type: string, payload: Record<string, unknown>): Promise<void> {
    const { id: userId } = (await clientOf(platform).listBots({})).bots[0]!;
    await bot.createMessage({ ...(await conversation()), userId, tags: {}, type, payload });
  }

  const answerText = (text: string) => answer('text', { text });

  async function stream(sequence: number, delta: string): Promise<void> {
    const signal = { type: 'delta', streamId: 's', sequence, delta };
    await bot.callAction({ type: 'chat:publishMessageStream', input: { ...(await conversation()), signal } });
  }

  /** Event of the browser that carries a picture. */
  const bringPicture = (selector: string, event: string, type: string) =>
    page.evaluate(`(() => {
      const data = new DataTransfer();
      const bytes = Uint8Array.from(atob('${onePixel}'), (sign) => sign.charCodeAt(0));
      data.items.add(new File([bytes], 'pier.png', { type: 'image/png' }));
      const options = { dataTransfer: data, clipboardData: data, bubbles: true, cancelable: true };
      ${widget}.shadowRoot.querySelector('${selector}').dispatchEvent(new ${event}('${type}', options));
    })()`);

  const seriousViolations = (of = page) => violationsOf(of);

  it('opens the web chat by keyboard, with a greeting, and creates nobody before the first message', async () => {
    await page.getByRole('button', { name: 'Open the chat' }).press('Enter');
    await said('Ahoy!');

    expect(await page.evaluate(`${widget}.shadowRoot.activeElement?.localName`)).toBe('textarea');
    expect(await seriousViolations()).toEqual([]);
    expect((await bot.listUsers({})).users.filter(({ tags }) => tags['chat:id'] !== undefined)).toEqual([]);
    expect((await bot.listConversations({})).conversations).toEqual([]);
  });

  it('sends a choice, and shows the answer of the bot as it is written', async () => {
    await page.getByRole('button', { name: 'Hours' }).click();
    await said('Hours');
    const { messages } = await waitFor(
      () => bot.listMessages({}),
      (found) => found.messages.length === 1,
    );
    expect(messages[0]!.payload).toMatchObject({ text: 'When do you open?' });

    await stream(0, 'At sev');
    await said('At sev');
    await stream(1, 'en.');
    await said('At seven.');
    await answer('text', { text: 'At **seven**.', metadata: { streamId: 's' } });
    await transcript().locator('strong', { hasText: 'seven' }).waitFor();
    expect(await texts()).toEqual(['Ahoy!', 'Hours', 'At seven.']);
    await page.setViewportSize({ width: 900, height: 640 });
    await takeScreenshot(page, 'webchat');
  });

  it('shows every type of message; HTML is text, and no address runs a script', async () => {
    const actions = [
      { action: 'url', label: 'Evil', value: 'javascript:alert(1)' },
      { action: 'say', label: 'Book', value: 'I want to book.' },
    ];
    const card = { title: 'Berth <b>7</b>', subtitle: 'At the pier', actions };
    await answer('text', { text: '<img src=x onerror=alert(1)> [run](javascript:alert(1)) https://parley.example' });
    await answer('card', card);
    await answer('carousel', { items: [card, { ...card, title: 'Berth 8' }] });
    await answer('choice', { text: 'Pick', options: Array.from({ length: 1000 }, (_, n) => option(`Berth ${n}`)) });
    await answer('dropdown', { text: 'Or', options: [option('One'), option('Two')] });
    await answer('location', { latitude: 54.3, longitude: 10.1, title: 'Kiel' });
    await answer('file', { fileUrl: 'https://parley.example/a.pdf', title: 'Price list' });
    await answer('image', { imageUrl: 'data:text/html,<script>alert(1)</script>' });
    await answer('audio', { audioUrl: 'https://parley.example/a.mp3' });
    await answer('video', { videoUrl: 'https://parley.example/a.mp4' });
    await answer('text', { text: `# ${'x'.repeat(100_000)}` });
    await answer('bloc', { items: [{ type: 'text', payload: { text: 'First of a bloc' } }] });

    await said('<img src=x onerror=alert(1)> run https://parley.example');
    await said('First of a bloc');
    await said('Show all 1000');
    expect(await transcript().locator('a[href^="javascript"], img[src^="data"]').count()).toBe(0);
    expect(await transcript().getByRole('link', { name: 'Price list' }).getAttribute('rel')).toContain('noopener');
    expect(
      await transcript()
        .getByRole('button', { name: /^Berth \d+$/ })
        .count(),
    ).toBe(20);
    expect(await seriousViolations()).toEqual([]);

    await transcript().getByRole('combobox').selectOption('Two');
    await waitFor(
      () => bot.listMessages({}),
      ({ messages }) => messages[0]!.payload['text'] === 'value of Two',
    );
  });

  it('sends files that are chosen by keyboard, dropped or pasted, and says why one is refused', async () => {
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Attach a file' }).press('Enter');
    const files = [file('price list.pdf', 'application/pdf', 3), file('empty.bin', '', 0)];
    expectsFailures = true;
    await (await chooser).setFiles(files);

    const link = transcript().getByRole('link', { name: 'price list.pdf' });
    await link.waitFor();
    await said('Sending empty.bin …');
    await transcript().getByText('Not sent: size must not be less than 1').waitFor();
    expect(await (await fetch((await link.getAttribute('href'))!)).text()).toBe('xxx');
    expectsFailures = false;
    expect(await seriousViolations()).toEqual([]);
    await page.getByRole('button', { name: 'Discard' }).click();

    await bringPicture('header', 'DragEvent', 'dragover');
    await page.getByText('Drop files here to send them').waitFor();
    await bringPicture('header', 'DragEvent', 'drop');
    await bringPicture('textarea', 'ClipboardEvent', 'paste');
    const { messages } = await waitFor(
      async () => ({
        messages: (await bot.listMessages({})).messages.filter(({ direction }) => direction === 'incoming'),
      }),
      (found) => found.messages[1]!.type === 'image',
    );
    expect(messages.slice(0, 3)).toMatchObject([
      { type: 'image' },
      { type: 'image' },
      { type: 'file', payload: { title: 'price list.pdf' } },
    ]);
    await waitFor(
      () => page.evaluate(`[...${widget}.shadowRoot.querySelectorAll('.own img')].at(-1).naturalWidth`),
      (width) => width === 1,
    );
  });

  it('passes custom events to the page, and those of the page to the bot', async () => {
    await page.evaluate(
      `void ${widget}.addEventListener('parley-event', ({ detail }) => (document.title = JSON.stringify(detail)))`,
    );
    await bot.callAction({ type: 'chat:sendEvent', input: { ...(await conversation()), payload: { color: 'red' } } });
    await waitFor(
      () => page.title(),
      (title) => title === '{"color":"red"}',
    );

    await page.evaluate(`${widget}.sendEvent({ page: 'shop' })`);
    const { events } = await waitFor(
      () => bot.listEvents({ type: 'chat:custom' }),
      (found) => found.events.length > 0,
    );
    expect(JSON.stringify(events[0]!.payload)).toContain('shop');
  });

  it('continues the web chat after a reload, in a second tab and on a phone, without doubles', async () => {
    const before = await texts();
    await page.reload();
    await page.getByRole('button', { name: 'Open the chat' }).click();
    await said('First of a bloc');
    const phone = await openPage({ width: 360, height: 640 });
    await phone.getByRole('button', { name: 'Open the chat' }).click();
    await said('First of a bloc', phone);
    await write('From the phone', phone);

    await said('From the phone');
    await answerText('To both');
    await Promise.all([said('To both'), said('To both', phone)]);
    expect((await texts()).slice(-2)).toEqual(['From the phone', 'To both']);
    expect((await texts()).length).toBe(before.length + 2);
    expect(await seriousViolations(phone)).toEqual([]);
    const overflow = await phone.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    await phone.close();
  });

  it('finds every message again when the server goes away in the middle of an answer', async () => {
    await stream(0, 'Half an ans');
    await said('Half an ans');

    expectsFailures = true;
    // A browser does not report the end of a stream with its page.
    streams.clear();
    await platform.stop();
    await page.getByText('The connection is lost').waitFor();
    await write('Written while the server is away');
    platform = await startEmbedded({ env, dataDir: folder });
    bot = clientOf(platform, (await clientOf(platform).listBots({})).bots[0]!.id);
    await answerText('The whole answer');

    await said('The whole answer');
    await waitFor(
      () => bot.listMessages({}),
      ({ messages }) =>
        messages.filter(({ payload }) => payload['text'] === 'Written while the server is away').length === 1,
    );
    await waitFor(
      () => page.getByText('The connection is lost').count(),
      (count) => count === 0,
    );
    expectsFailures = false;
    const shown = await texts();
    expect(shown.filter((text) => text.includes('Half an ans'))).toEqual([]);
    expect(shown.filter((text) => text === 'Written while the server is away')).toHaveLength(1);
    expect(shown.filter((text) => text === 'The whole answer')).toHaveLength(1);
  });

  it('keeps several conversations of the web chat', async () => {
    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await write('Another matter');
    await said('Another matter');
    expect(await texts()).toEqual(['Ahoy!', 'Another matter']);

    await page.getByRole('button', { name: 'Conversations' }).click();
    const started = page.getByRole('button', { name: /^Started/ });
    await started.nth(1).waitFor();
    expect(await started.count()).toBe(2);
    expect(await seriousViolations()).toEqual([]);
    await started.last().click();
    await said('The whole answer');
  });

  it('shows the chat before the public client is there, and loads it again after a failure', async () => {
    const late = await (await browser.newContext()).newPage();
    let [attempts, greetings] = [0, 0];
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    await late.route('**/webchat/assets/*', async (route) => {
      attempts += 1;
      if (attempts === 1) return route.abort();
      await released;
      return route.continue();
    });
    await late.route('**/hello/', (route) => ((greetings += 1) === 1 ? route.abort() : route.continue()));
    await late.goto(host.url);
    await late.getByRole('button', { name: 'Open the chat' }).click();
    await said('Ahoy!', late);
    await write('Written early', late);
    await said('Written early', late);
    await waitFor(
      () => attempts,
      (count) => count === 2,
    );
    const received = async () => (await bot.listMessages({})).messages.map(({ payload }) => payload['text']);
    expect(await received()).not.toContain('Written early');

    release();
    await waitFor(received, (found) => found.includes('Written early'));
    expect(await texts(late)).toEqual(['Ahoy!', 'Written early']);
    expect(greetings).toBe(2);
    await late.context().close();
  });

  it('shows the web chat on its own page, in the language of the reader and within the size of a widget', async () => {
    const context = await browser.newContext({ locale: 'de-DE', colorScheme: 'dark' });
    const full = await context.newPage();
    full.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    await full.goto(`${platform.url}/webchat/${webhookId}`);
    await full.getByRole('heading', { name: 'Harbour' }).waitFor();
    await full.getByLabel('Nachricht schreiben').waitFor();

    expect(await full.title()).toBe('Harbour');
    expect(await seriousViolations(full)).toEqual([]);
    const scripts = await waitFor(
      () => full.evaluate<string[]>(`performance.getEntriesByType('resource').map(({ name }) => name)`),
      (names) => names.some((name) => name.includes('/webchat/assets/')),
    ).then((names) => names.filter((name) => name.endsWith('.js')));
    const [widgetBytes, clientBytes, ...others] = await Promise.all(scripts.map(compressedBytes));
    process.stdout.write(`Compressed: ${widgetBytes} bytes of widget, ${clientBytes} of the public client.\n`);
    expect(widgetBytes).toBeLessThanOrEqual(maxBytes.widget);
    expect(clientBytes).toBeLessThanOrEqual(maxBytes.client);
    expect(others).toEqual([]);
    await context.close();
  });

  it('explains why a chat is not available', async () => {
    await page.evaluate(`${widget}.setAttribute('webhook-id', 'none')`);

    await page.getByText('This chat is not available: The web chat "none" was not found.').waitFor();
  });

  it('reports no error of the web chat, and leaves no stream open', async () => {
    expect(problems).toEqual([]);
    await waitFor(
      () => streams.size,
      (count) => count === 0,
    );
  });
});

function file(name: string, mimeType: string, bytes: number) {
  return { name, mimeType, buffer: Buffer.alloc(bytes, 'x') };
}

async function compressedBytes(url: string): Promise<number> {
  return gzipSync(await (await fetch(url)).text(), { level: 9 }).length;
}

function option(label: string) {
  return { label, value: `value of ${label}` };
}

/** Screen readers hear who speaks. */
function withoutSpeaker(text: string): string {
  return text.replace(/^(You|Bot):\s+/, '').trim();
}
