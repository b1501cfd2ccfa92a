import { gzipSync } from 'node:zlib';
import { clientOf } from '@parley/testing/api';
import type { RunningPlatform } from '@parley/testing/running-platform';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '@parley/testing/chromium';
import type { Aim, Result } from './result';
import { median } from './statistics';
import { openBot, openEmbedded, type Workbench } from './workbench';

const rows = 100_000;
const rowsAtOnce = 1_000;
const columns = 15;
const wheelSteps = 60;
const dragSteps = 60;
/** Time to request the rows that came into view, and to show them. */
const settledMs = 1_000;

/** Records the moment at which an element with this text is in the page, in ms since the navigation began. */
const noteText = (selector: string, text: string) => `new MutationObserver((_changes, observer) => {
  if (![...document.querySelectorAll('${selector}')].some((element) => element.textContent === '${text}')) return;
  window.shownMs = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true, characterData: true });`;

const noteLongTasks = `window.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
  .observe({ type: 'longtask' });`;

const grid = "document.querySelector('[role=grid]')";

/** Movements of the grid, as statements that run in the page; `frame()` waits for the next frame. */
const moves = {
  'dragging the scroll bar': `for (let step = 1; step <= ${dragSteps}; step++) {
    ${grid}.scrollTop = (${grid}.scrollHeight * step) / ${dragSteps};
    await frame();
  }`,
  'jumping to the start': `${grid}.scrollTop = 0;`,
  'jumping to the end': `${grid}.scrollTop = ${grid}.scrollHeight;`,
};

/** Pages of the gateway in Chromium: the console's first load, a grid over many rows, and the web chat. */
export async function benchConsole(bench: Workbench): Promise<Result[]> {
  const platform = await openEmbedded(bench);
  const browser = await openBrowser();
  bench.session.keep({ stop: () => browser.close() });
  return [
    await benchFirstLoad(bench, platform, browser),
    await benchGrid(bench, platform, browser),
    await benchWebchat(bench, platform, browser),
  ];
}

async function benchFirstLoad({ session, options }: Workbench, platform: RunningPlatform, browser: Browser) {
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < options.rounds; round++) {
    session.checkpoint();
    const context = await browser.newContext();
    // The session of a person who stays signed in: the sign-in page is left out.
    await context.addInitScript(
      `sessionStorage.setItem('parley.session', ${JSON.stringify(JSON.stringify({ token: platform.token }))});
       ${noteText('h1', 'Overview')}`,
    );
    const page = await context.newPage();
    const assets = new Set<string>();
    page.on('request', (request) => request.url().includes('/console/assets/') && assets.add(request.url()));
    await page.goto(`${platform.url}/console/w/${platform.workspaceId}`);
    await page.getByRole('heading', { name: 'Overview', level: 1, exact: true }).waitFor();
    times.push(await page.evaluate<number>('shownMs'));
    bytes = (await Promise.all([...assets].map(gzippedBytes))).reduce((sum, size) => sum + size, 0);
    await context.close();
  }
  return resultOf(`Console: first load in Chromium, ${options.rounds} times without a cache`, [
    { name: 'scripts and styles, gzip', values: [bytes / 1000], unit: ' kB', below: 300 },
    { name: 'interactive', values: times, unit: ' ms', below: 1_500 },
  ]);
}

async function benchGrid({ session, options }: Workbench, platform: RunningPlatform, browser: Browser) {
  const bot = await openBot(platform);
  const names = Array.from({ length: columns }, (_, n) => `column${n}`);
  const { table } = await bot.client.createTable({
    name: 'BerthsTable',
    schema: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) },
  });
  for (let first = 0; first < rows; first += rowsAtOnce) {
    session.checkpoint();
    await bot.client.createTableRows({
      table: table.id,
      rows: Array.from({ length: rowsAtOnce }, (_, n) =>
        Object.fromEntries(names.map((name) => [name, `${name} of berth ${first + n}`])),
      ),
    });
  }
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.addInitScript(noteLongTasks);
  await page.goto(`${platform.url}/console/w/${platform.workspaceId}/bots/${bot.id}/tables/${table.id}`);
  await page.getByLabel('Personal access token').fill(platform.token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('gridcell').first().waitFor();

  const longest: Record<string, number[]> = {};
  const note = async (name: string, move: () => Promise<unknown>) => {
    await page.evaluate('void (longTasks = [])');
    await move();
    await page.waitForTimeout(settledMs);
    (longest[name] ??= []).push(await page.evaluate<number>('Math.max(0, ...longTasks)'));
  };
  for (let round = 0; round < options.rounds; round++) {
    session.checkpoint();
    await note('scrolling by wheel', () => scrollByWheel(page));
    for (const [name, move] of Object.entries(moves)) await note(name, () => page.evaluate(inFrames(move)));
  }
  // Throws when the last row is not shown after the jump to the end.
  await page.getByRole('gridcell', { name: `column0 of berth ${rows - 1}`, exact: true }).waitFor();
  await page.context().close();
  const result = resultOf(
    `Console: longest task in a grid over ${rows} rows of ${columns} columns, ${options.rounds} times`,
    Object.entries(longest).map(([name, values]) => ({
      name,
      values,
      value: Math.max(...values),
      unit: ' ms',
      below: 100,
    })),
  );
  return {
    ...result,
    notes: ['By PerformanceObserver; 0: no task took 50 ms. The wall time of a busy machine is part of a task.'],
  };
}

async function benchWebchat({ session, options }: Workbench, platform: RunningPlatform, browser: Browser) {
  const { bot } = await clientOf(platform).createBot({ name: 'Harbour' });
  const { webhookId } = Object.values(bot.integrations)[0]!;
  const [painted, shown]: [number[], number[]] = [[], []];
  const client = new Set<string>();
  for (let round = 0; round < options.rounds; round++) {
    session.checkpoint();
    const context = await browser.newContext();
    const page = await context.newPage();
    const requested = page.waitForRequest('**/webchat/assets/*');
    await page.goto(`${platform.url}/webchat/${webhookId}`);
    await page.getByLabel('Write a message').waitFor();
    client.add((await requested).url());
    shown.push(await page.evaluate<number>('performance.now()'));
    painted.push(await page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0].startTime`));
    await context.close();
  }
  return resultOf(`Web chat: full page in Chromium, ${options.rounds} times without a cache`, [
    {
      name: 'embed.js, gzip',
      values: [(await gzippedBytes(`${platform.url}/webchat/embed.js`)) / 1000],
      unit: ' kB',
      below: 60,
    },
    {
      name: 'public client, gzip',
      values: (await Promise.all([...client].map(gzippedBytes))).map((bytes) => bytes / 1000),
      unit: ' kB',
    },
    { name: 'first paint', values: painted, unit: ' ms' },
    { name: 'ready for a message', values: shown, unit: ' ms' },
  ]);
}

async function scrollByWheel(page: Page): Promise<void> {
  await page.getByRole('grid').hover();
  for (let step = 0; step < wheelSteps; step++) await page.mouse.wheel(0, 400);
}

function inFrames(move: string): string {
  return `(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    ${move}
    await frame();
  })()`;
}

async function gzippedBytes(url: string): Promise<number> {
  return gzipSync(await (await fetch(url)).text(), { level: 9 }).length;
}

interface Figure {
  name: string;
  values: number[];
  /** Default: the median of the values. */
  value?: number;
  unit: string;
  below?: number;
}

/** Rows, and the aims of those figures that have one. */
function resultOf(title: string, figures: Figure[]): Result {
  return {
    title,
    rows: figures.map(({ name, values, value = median(values), unit }) => ({
      name,
      figures: { [unit.trim()]: value },
    })),
    aims: figures.flatMap(({ name, values, value = median(values), unit, below }): Aim[] => {
      if (below === undefined) return [];
      return [{ name, value, spread: [Math.min(...values), Math.max(...values)], unit, below }];
    }),
    notes: [],
    errors: [],
    rounds: { values: figures.map(({ name, values }) => ({ name, values })) },
  };
}
