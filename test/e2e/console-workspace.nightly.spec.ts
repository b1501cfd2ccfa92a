import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { admin } from '@parley/contracts/admin/admin';
import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import { type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';
import type { Client } from '@botpress/client';
import type { Browser, Page, Request } from 'playwright-core';
import {
  asOperator,
  browserSuite,
  buildPages,
  heading as headingOf,
  openPage,
  seriousViolations as violationsOf,
  signIn,
  takeScreenshot,
} from './browser';
import { openBrowser } from '@parley/testing/chromium';

// Takes 30 s: a platform, the build of the console and a browser.

const consoleFolder = join(__dirname, '../../dist/console');

/** Labels of buttons that change something begin so. */
const changes =
  /^(new|create|add|delete|save|upload|choose|import|export|remove|revoke|send|retry|register|edit|roll)\b/i;

/** Problem that the browser reports of a request that the platform refuses. */
const refused = (status: string) => `Failed to load resource: the server responded with a status of ${status}`;

browserSuite('the console of a workspace in a browser', () => {
  let platform: RunningPlatform;
  let browser: Browser;
  let page: Page;
  let botId: string;
  let bot: Client;
  const problems: string[] = [];
  /** Files of the console that the first page needs. */
  const assets: string[] = [];
  const addAsset = (request: Request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/console/assets/')) assets.push(pathname.slice('/console/'.length));
  };
  const heading = (name: string) => headingOf(page, name);
  const seriousViolations = () => violationsOf(page);

  beforeAll(async () => {
    buildPages();
    [platform, browser] = await Promise.all([startEmbedded(), openBrowser()]);
    ({
      bot: { id: botId },
    } = await clientOf(platform).createBot({ name: 'Harbour bot' }));
    bot = clientOf(platform, botId);
    page = await openPage(browser, platform, problems);
    page.on('dialog', (dialog) => void dialog.accept());
    page.on('request', addAsset);
    await signIn(page, platform);
    await page.waitForLoadState('networkidle');
    page.off('request', addAsset);
  });

  afterAll(async () => {
    await browser?.close();
    await platform?.stop();
  });

  /** Opens a page of the bot by its link. */
  async function openBotPage(name: string): Promise<void> {
    await page.getByRole('link', { name: 'Bots', exact: true }).click();
    await page.getByRole('table').getByRole('link', { name: 'Harbour bot' }).click();
    await page.getByRole('link', { name, exact: true }).click();
    await heading(name);
  }

  it('loads at most 300 kB before the first page is shown', async () => {
    const files = assets.map((name) => join(consoleFolder, name));
    const sizes = await Promise.all(files.map(async (file) => gzipSync(await readFile(file), { level: 9 }).length));

    expect(files.length).toBeGreaterThan(2);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000);
  });

  const dialog = () => page.getByRole('dialog');
  const cell = (text: string) => page.getByRole('gridcell', { name: text, exact: true });

  describe('tables', () => {
    it('creates tables with typed columns', async () => {
      await openBotPage('Tables');
      await page.getByText('No tables').waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByRole('button', { name: 'New table' }).click();
      await dialog().getByLabel('Name of the table').fill('ships');
      const columns = [
        ['name', 'Text'],
        ['length', 'Number'],
        ['isFerry', 'Yes or no'],
        ['launchedAt', 'Date and time'],
        ['cargo', 'JSON object'],
      ] as const;
      for (const [index, [name, type]] of columns.entries()) {
        if (index > 0) await dialog().getByRole('button', { name: 'Add a column' }).click();
        await dialog()
          .getByRole('textbox', { name: `Column ${index + 1}`, exact: true })
          .fill(name);
        await dialog()
          .getByLabel(`Type ${index + 1}`)
          .selectOption(type);
      }
      expect(await seriousViolations()).toEqual([]);
      await dialog().getByRole('button', { name: 'Create the table' }).click();
      await heading('ships');

      const { tables } = await bot.listTables({});
      expect(tables[0]!.schema.properties).toMatchObject({
        name: { type: 'string' },
        length: { type: 'number' },
        isFerry: { type: 'boolean' },
        launchedAt: { type: 'string', format: 'date-time' },
        cargo: { type: 'object' },
      });
      await page.getByText('No rows', { exact: true }).waitFor();
    });

    it('adds rows by editors of the types of their columns, which refuse other values', async () => {
      await page.getByRole('button', { name: 'Add a row' }).click();
      await dialog().getByLabel('name').fill('Aurora');
      await dialog().getByLabel('length').fill('ninety');
      await dialog().getByLabel('isFerry').selectOption('true');
      await dialog().getByLabel('launchedAt').fill('2024-05-06T07:08:09');
      await dialog().getByLabel('cargo').fill('{"cars": 40}');
      await dialog().getByRole('button', { name: 'Save' }).click();
      await dialog().getByText('Write a number').waitFor();
      expect(await seriousViolations()).toEqual([]);
      await dialog().getByLabel('length').fill('90.5');
      await dialog().getByRole('button', { name: 'Save' }).click();
      await cell('Aurora').waitFor();

      const { row } = await bot.getTableRow({ table: 'ships', id: 1 });
      const launchedAt = await page.evaluate(() => new Date('2024-05-06T07:08:09').toISOString());
      expect(row).toMatchObject({ name: 'Aurora', length: 90.5, isFerry: true, launchedAt, cargo: { cars: 40 } });
      expect(await seriousViolations()).toEqual([]);
    });

    it('edits rows cell by cell, in editors of the types of their columns', async () => {
      const editor = (name: string) => page.getByRole('grid').getByLabel(name).and(page.locator(':focus'));
      await page.getByRole('grid').focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('F2');
      await editor('name').fill('Aurelia');
      await page.keyboard.press('Escape');
      await page.getByRole('grid').and(page.locator(':focus')).waitFor();
      await cell('Aurora').waitFor();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      await editor('length').fill('ninety');
      await page.keyboard.press('Enter');
      await page.getByRole('gridcell').getByText('Write a number').waitFor();
      expect(await seriousViolations()).toEqual([]);
      await editor('length').fill('91');
      await page.keyboard.press('Tab');
      await editor('isFerry').selectOption('false');
      await page.keyboard.press('Tab');
      await editor('launchedAt').fill('2025-05-06T07:08:09');
      await page.keyboard.press('Tab');
      await editor('cargo').fill('{"cars": 41}');
      expect(await seriousViolations()).toEqual([]);
      await page.keyboard.press('Enter');
      await page.getByRole('grid').and(page.locator(':focus')).waitFor();
      await cell('{"cars":41}').waitFor();

      const { row } = await bot.getTableRow({ table: 'ships', id: 1 });
      const launchedAt = await page.evaluate(() => new Date('2025-05-06T07:08:09').toISOString());
      expect(row).toMatchObject({ name: 'Aurora', length: 91, isFerry: false, launchedAt, cargo: { cars: 41 } });
    });

    it('edits a row as a whole in a form', async () => {
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Space');
      await dialog().getByLabel('length').and(page.locator(':focus')).fill('92');
      await page.keyboard.press('Enter');
      await cell('92').waitFor();

      const { row } = await bot.getTableRow({ table: 'ships', id: 1 });
      expect(row).toMatchObject({ name: 'Aurora', length: 92, cargo: { cars: 41 } });
      await page.getByRole('grid').and(page.locator(':focus')).waitFor();
    });

    it('shows the reason why the platform refuses a row', async () => {
      await bot.updateTable({ table: 'ships', keyColumn: 'name' });
      await page.getByRole('button', { name: 'Add a row' }).click();
      await dialog().getByLabel('name').fill('Aurora');
      await dialog().getByRole('button', { name: 'Save' }).click();
      await dialog().getByRole('alert').getByText('another row has the same name').waitFor();
      await page.keyboard.press('Escape');
      await dialog().waitFor({ state: 'hidden' });
    });

    it('imports a CSV file, and explains its refused rows', async () => {
      const lines = ['name,length,isFerry', 'Borealis,20,false', 'Corvus,12,true', 'Draco,long,false'];
      await page.getByRole('tab', { name: 'Import and export' }).click();
      await page.locator('input[type=file]').setInputFiles({
        name: 'ships.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from(lines.join('\n')),
      });
      await page.getByRole('cell', { name: '2, 1 failed' }).waitFor();
      await page.getByText('Line 4: length must be number').waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByRole('tab', { name: 'Rows' }).click();
      await cell('Borealis').waitFor();
    });

    it('keeps a value that the platform refuses in its cell, with the reason', async () => {
      await cell('Borealis').dblclick();
      const editor = page.getByRole('grid').getByRole('textbox', { name: 'name' });
      await editor.fill('Aurora');
      await page.getByRole('heading', { name: 'ships' }).click();
      await page.getByRole('gridcell').getByText('another row has the same name').waitFor();
      expect(await editor.inputValue()).toBe('Aurora');
      await editor.fill('Boreas');
      await page.getByRole('heading', { name: 'ships' }).click();
      await cell('Boreas').waitFor();
      await editor.waitFor({ state: 'detached' });
      await cell('Boreas').dblclick();
      await editor.fill('Borealis');
      await page.keyboard.press('Enter');
      await cell('Borealis').waitFor();
    });

    it('filters and sorts rows of a table', async () => {
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByLabel('Column 1', { exact: true }).selectOption('length');
      await page.getByLabel('Comparison 1').selectOption('is at least');
      await page.getByLabel('Value 1').fill('20');
      expect(await seriousViolations()).toEqual([]);
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('Rows: 2 of 3').waitFor();
      await takeScreenshot(page, 'console-table');
      expect(await page.getByRole('gridcell', { name: 'Corvus' }).count()).toBe(0);

      await page.getByRole('button', { name: 'length', exact: true }).click();
      await page.getByRole('columnheader', { name: 'length' }).and(page.locator('[aria-sort=ascending]')).waitFor();
      await page.getByRole('row').nth(1).getByText('Borealis').waitFor();
      await page.getByRole('button', { name: 'length', exact: true }).click();
      await page.getByRole('row').nth(1).getByText('Aurora').waitFor();

      await page.getByRole('button', { name: 'Filter (1)' }).click();
      await page.getByRole('button', { name: 'Show all rows' }).click();
      await cell('Corvus').waitFor();
    });

    it('shows values of computed columns when they are known, and the reason when one failed', async () => {
      const computed = (code: string) => ({
        type: 'number',
        'x-zui': { computed: { action: 'code', dependencies: ['length'], code } },
      });
      const properties = {
        length: { type: 'number' },
        double: computed('row.length * 2'),
        cars: computed('row.cargo.cars'),
      };
      await bot.createTable({ name: 'measures', schema: { type: 'object', properties } });
      await bot.createTableRows({ table: 'measures', rows: [{ length: 91 }] });
      await openBotPage('Tables');
      await page.getByRole('link', { name: 'measures' }).click();
      await cell('182').waitFor();
      await cell('failed').click();
      await page.keyboard.press('Enter');
      await dialog().getByText("cannot read property 'cars'").waitFor();
      expect(await seriousViolations()).toEqual([]);
    });

    it('deletes a row of a table', async () => {
      await dialog().getByRole('button', { name: 'Delete the row' }).click();
      await page.getByText('No rows').waitFor();

      expect((await bot.findTableRows({ table: 'measures' })).rows).toEqual([]);
    });

    it('orders rows by meaning when they are searched', async () => {
      const text = { type: 'string', 'x-zui': { searchable: true } };
      await bot.createTable({ name: 'facts', schema: { type: 'object', properties: { text } } });
      const rows = [{ text: 'The parliament voted on the tax law' }, { text: 'A kitten is lying on the couch' }];
      await bot.createTableRows({ table: 'facts', rows });
      await openBotPage('Tables');
      await page.getByRole('link', { name: 'facts' }).click();
      await page.getByRole('row').nth(1).getByText('parliament').waitFor();
      await page.getByText('not yet found by search').waitFor({ state: 'hidden' });

      await page.getByLabel('Search by meaning').fill('a pet resting on furniture');
      await page.keyboard.press('Enter');
      await page.getByRole('row').nth(1).getByText('kitten').waitFor();
    });

    it('exports rows to a CSV file', async () => {
      await page.getByRole('tab', { name: 'Import and export' }).click();
      await page.getByText('No jobs so far').waitFor();
      await page.getByRole('button', { name: 'Export as CSV' }).click();
      const downloading = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download' }).click();
      const file = await (await downloading).path();

      expect(await readFile(file, 'utf8')).toContain('A kitten is lying on the couch');
      expect(await seriousViolations()).toEqual([]);
    });

    it('shows the columns of a table, and deletes it', async () => {
      await page.getByRole('tab', { name: 'Schema' }).click();
      await page.getByRole('cell', { name: 'searchable' }).waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByRole('button', { name: 'Delete the table' }).click();
      await heading('Tables');
      await page.getByRole('link', { name: 'facts' }).waitFor({ state: 'hidden' });
      expect((await bot.listTables({})).tables.map(({ name }) => name)).toEqual(['ships', 'measures']);
    });
  });

  describe('the hub', () => {
    it('shows a public integration with its configuration and versions', async () => {
      await page.getByRole('link', { name: 'Hub' }).click();
      await heading('Hub');
      await page.getByRole('link', { name: 'Chat', exact: true }).waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByRole('link', { name: 'Chat', exact: true }).click();
      await heading('Chat');
      await page
        .getByRole('region', { name: 'Schema of the configuration' })
        .getByText('encryptionKey')
        .first()
        .waitFor();
      await page.getByRole('table', { name: 'Versions' }).getByText('1.0.0 (shown)').waitFor();
      expect(await seriousViolations()).toEqual([]);
    });

    it('shows an integration of the workspace, nothing of whose readme runs', async () => {
      const client = clientOf(platform);
      const readme = Buffer.from('# Tides\n\n<img src=x onerror=alert(1)> Ebbe für alle').toString('base64');
      const labels = { title: 'Tide tables', description: 'Tells when the tide turns.', readme };
      await client.createIntegration({ name: 'tides', version: '0.1.0', ...labels });
      await client.createIntegration({ name: 'tides', version: '0.2.0', ...labels });
      await page.getByRole('link', { name: 'Hub' }).click();
      await page.getByText('This workspace').click();
      await page.getByLabel('Search').fill('tide');
      await page.keyboard.press('Enter');
      await page.getByRole('row').filter({ hasText: '0.2.0' }).getByRole('link').click();
      await heading('Tide tables');

      const shown = page.getByRole('region', { name: 'Readme' });
      await shown.getByText('<img src=x onerror=alert(1)> Ebbe für alle').waitFor();
      expect(await page.locator('main img').count()).toBe(0);
      await page.getByRole('table', { name: 'Versions' }).getByRole('link', { name: '0.1.0' }).click();
      await page.getByText('0.1.0 (shown)').waitFor();
      expect(await seriousViolations()).toEqual([]);
    });

    it('finds interfaces and plugins of the hub by their words', async () => {
      const client = clientOf(platform);
      await client.createInterface({ name: 'weighing', version: '1.0.0', title: 'Weighing scales' });
      await client.createPlugin({
        name: 'ballast',
        version: '1.0.0',
        title: 'Ballast water',
        code: { node: 'module.exports = {}', browser: 'module.exports = {}' },
      });
      await page.getByRole('link', { name: 'Hub' }).click();
      await page.getByText('This workspace').click();
      await page.getByText('Interfaces', { exact: true }).click();
      await page.getByLabel('Search').fill('SCALES');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Weighing scales' }).waitFor();
      await page.getByText('Plugins', { exact: true }).click();
      await page.getByText('Nothing found').waitFor();
      await page.getByLabel('Search').fill('ballast');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Ballast water' }).click();
      await heading('Ballast water');
      expect(await seriousViolations()).toEqual([]);
    });
  });

  describe('the workspace', () => {
    const member = 'bosun@example.com';
    const memberRow = () => page.getByRole('row').filter({ hasText: member });
    const roleOf = async () => {
      const { members } = await clientOf(platform).listWorkspaceMembers({});
      return members.find(({ email }) => email === member)?.role;
    };

    it('gets a member by e-mail, whose role changes', async () => {
      await page.getByRole('link', { name: 'Members' }).click();
      await heading('Members');
      await page.getByRole('button', { name: 'Add a member' }).click();
      await dialog().getByLabel('E-mail address').fill(member);
      expect(await seriousViolations()).toEqual([]);
      await dialog().getByRole('button', { name: 'Add' }).click();
      await dialog().getByText('The operator must create the account first').waitFor();
      expect(problems.splice(0)).toEqual([refused('400 (Bad Request)')]);

      await asOperator(platform, admin.accounts.create.route!, { email: member });
      await dialog().getByRole('button', { name: 'Add' }).click();
      await memberRow().waitFor();
      expect(await roleOf()).toBe('developer');
      expect(await seriousViolations()).toEqual([]);

      await memberRow().getByRole('combobox').selectOption('viewer');
      await waitFor(roleOf, (role) => role === 'viewer');
    });

    it('explains why the last owner of the workspace stays one', async () => {
      const own = page.getByRole('row').filter({ hasText: 'admin@parley.local' });
      await own.getByRole('combobox').selectOption('viewer');
      await own.getByRole('alert').getByText('owner').waitFor();
      expect(await own.getByRole('combobox').inputValue()).toBe('owner');
      expect(problems.splice(0)).toEqual([refused('409 (Conflict)')]);
    });

    it('sets the budget of the workspace, and removes one of its limits', async () => {
      const facts = page.getByRole('table', { name: 'Budget' });
      await page.getByRole('link', { name: 'Usage of models' }).click();
      await heading('Usage of models');
      await page.getByRole('button', { name: 'Edit the budget' }).click();
      await dialog().getByLabel('US dollars a month').fill('12.5');
      await dialog().getByLabel('Tokens a month').fill('2000');
      expect(await seriousViolations()).toEqual([]);
      await dialog().getByRole('button', { name: 'Save' }).click();
      await facts.getByText('$12.50').waitFor();
      await facts.getByText('2,000').waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByRole('button', { name: 'Edit the budget' }).click();
      await dialog().getByLabel('Tokens a month').fill('');
      await dialog().getByRole('button', { name: 'Save' }).click();
      await facts.getByText('no limit').waitFor();
      const { quota } = await clientOf(platform).getWorkspaceQuota({ id: platform.workspaceId, type: 'ai_spend' });
      expect(quota.value).toBe(12.5);
    });

    it('shows the audit log, which is filtered by change and person', async () => {
      await page.getByRole('link', { name: 'Audit log' }).click();
      await heading('Audit log');
      await page.getByRole('cell', { name: 'admin.members.create' }).waitFor();
      await page.getByRole('cell', { name: 'hub.integrations.create' }).first().waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByLabel('Change').fill('members');
      await page.getByLabel('Person, thing or value').fill('bosun viewer');
      await page.keyboard.press('Enter');
      await page.getByRole('cell', { name: 'admin.members.update' }).waitFor();
      await page.getByRole('cell', { name: 'admin.members.create' }).waitFor({ state: 'hidden' });
      expect(await page.getByRole('row').count()).toBe(2);
    });

    it('creates a token, shows it once and revokes it', async () => {
      await page.getByRole('link', { name: 'Tokens' }).click();
      await heading('Tokens');
      await page.getByLabel('Note').fill('Nightly export');
      await page.getByRole('button', { name: 'Create a token' }).click();
      const shown = await page.getByText(/^bp_pat_/).innerText();
      expect(await seriousViolations()).toEqual([]);
      const account = () => clientOf({ ...platform, token: shown }).getAccount({});
      expect((await account()).account.email).toBe('admin@parley.local');

      await page.getByRole('button', { name: 'Hide' }).click();
      await page.getByText(shown).waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: 'Revoke Nightly export' }).click();
      await page.getByRole('cell', { name: 'Nightly export', exact: true }).waitFor({ state: 'hidden' });
      await expect(account()).rejects.toMatchObject({ code: 401 });
    });

    it('shows the workspace to a viewer, without anything that changes it', async () => {
      const { file } = await bot.uploadFile({ key: 'tides.txt', content: 'Ebb at six.', index: false });
      const { table } = await bot.getTable({ table: 'ships' });
      const ofBot = `bots/${botId}`;
      const pages = [
        ['', 'Overview'],
        ['bots', 'Bots'],
        [ofBot, 'Harbour bot'],
        [`${ofBot}/conversations`, 'Conversations'],
        [`${ofBot}/events`, 'Events'],
        [`${ofBot}/workflows`, 'Workflows'],
        [`${ofBot}/files`, 'Files'],
        [`${ofBot}/files/${file.id}`, 'tides.txt'],
        [`${ofBot}/tables`, 'Tables'],
        [`${ofBot}/tables/${table.id}`, 'ships'],
        [`${ofBot}/logs`, 'Logs'],
        [`${ofBot}/issues`, 'Issues'],
        [`${ofBot}/models`, 'Models'],
        ['hub', 'Hub'],
        ['members', 'Members'],
        ['models', 'Usage of models'],
      ] as const;
      page = await openPage(browser, platform, problems);
      await signIn(page, platform, member);
      await page.getByRole('button', { name: member }).click();
      await page.getByRole('menuitemcheckbox', { name: 'Keep me signed in' }).click();

      for (const [path, name] of pages) {
        await page.goto(`${platform.url}/console/w/${platform.workspaceId}/${path}`);
        await heading(name);
        // The menu has this link when the role is known.
        await page.getByRole('link', { name: 'Members' }).waitFor();
        await waitFor(
          () => page.locator('main [aria-busy=true]').count(),
          (count) => count === 0,
        );
        const buttons = await page.locator('main').getByRole('button').allInnerTexts();
        expect([path, buttons.filter((label) => changes.test(label))]).toEqual([path, []]);
        expect(await page.locator('main input[type=file]').count()).toBe(0);
      }
      expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
      expect(await page.getByRole('table', { name: 'Members' }).getByRole('combobox').count()).toBe(0);
    });

    it('shows a row to a viewer without editors', async () => {
      await page.getByRole('link', { name: 'Bots', exact: true }).click();
      await page.getByRole('table').getByRole('link', { name: 'Harbour bot' }).click();
      await page.getByRole('link', { name: 'Tables', exact: true }).click();
      await page.getByRole('link', { name: 'ships' }).click();
      await cell('Aurora').dblclick();
      await dialog().getByText('Aurora').waitFor();
      expect(await page.getByRole('grid').getByRole('textbox').count()).toBe(0);
      expect(await dialog().getByRole('textbox').count()).toBe(0);
      expect(await dialog().getByRole('button').allInnerTexts()).toEqual(['']);
      expect(await seriousViolations()).toEqual([]);
    });
  });

  it('reports no error and sends no request to another origin in the pages of a workspace', () => {
    expect(problems).toEqual([]);
  });
});
