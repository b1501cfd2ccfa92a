import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin } from '@parley/contracts/admin/admin';
import { type RunningPlatform } from '@parley/testing/running-platform';
import { sendTo } from '@parley/testing/public-api';
import { operatorToken } from '@parley/secrets/token';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { hasChromium } from '@parley/testing/chromium';

const isRequired = process.env['PARLEY_REQUIRE_CHROMIUM'] === '1';

export const hasBrowser = hasChromium || isRequired;
/** `describe` of a suite that needs a browser; skipped where there is none. */
export const browserSuite = hasBrowser ? describe : describe.skip;
if (!hasBrowser) process.stderr.write('Skipped: the suites in a browser, because there is no chromium on the PATH.\n');

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Builds the pages of the gateway whose sources have changed. */
export function buildPages(): void {
  execFileSync(process.execPath, [join(__dirname, '../../tools/build-pages.mjs')], { stdio: 'ignore' });
}

/** Page of a browser that knows nobody. Errors of the page and requests to other origins are added to `problems`. */
export async function openPage(
  browser: Browser,
  { url }: RunningPlatform,
  problems: string[],
  options: BrowserContextOptions = {},
): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', ({ message }) => problems.push(message));
  page.on('request', (request) => {
    const requested = request.url();
    if (!requested.startsWith(url) && !/^(data|blob):/.test(requested)) problems.push(`request to ${requested}`);
  });
  return page;
}

/** Calls an operation of the operator. */
export async function asOperator<T>({ url, secretKey }: RunningPlatform, route: string, json: object): Promise<T> {
  const headers = { authorization: `Bearer ${operatorToken(secretKey)}` };
  const answer = await sendTo(url, route, { headers, json });
  return answer.json as T;
}

/** Signs in with a pasted token on any page of the console. */
export async function pasteToken(page: Page, token: string): Promise<void> {
  await page.getByLabel('Personal access token').fill(token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Opens a console link of the account, by default that of the first start. */
export async function signIn(page: Page, platform: RunningPlatform, email?: string): Promise<void> {
  const { url } = await asOperator<{ url: string }>(platform, admin.consoleLinks.create.route!, { email });
  await page.goto(url);
  await heading(page, 'Overview');
}

export function heading(page: Page, name: string): Promise<void> {
  return page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
}

/** Picture of the documentation, written with UPDATE_SCREENSHOTS=1. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (process.env['UPDATE_SCREENSHOTS'] !== '1') return;
  await page.evaluate('scrollTo(0, 0)');
  await page.screenshot({ path: join(__dirname, `../../docs/screenshots/${name}.png`) });
}

const atRest = `Promise.all(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
  .map(({ finished }) => finished.catch(() => undefined)))
  .then(() => undefined)`;

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Waits until nothing moves any more: a dialog that appears has other colors for a moment. */
export async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(atRest);
  const { violations } = await page.evaluate<{ violations: Violation[] }>(`(() => { ${axe}; return axe.run(); })()`);
  return violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}
