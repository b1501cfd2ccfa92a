import { readFile } from 'node:fs/promises';
import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import { type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';
import type { Client } from '@botpress/client';
import type { Browser, Page } from 'playwright-core';
import {
  browserSuite,
  buildConsole,
  heading as headingOf,
  openBrowser,
  openPage,
  seriousViolations as violationsOf,
  signIn,
} from './console-browser';

// Takes 30 s: a platform, the build of the console and a browser.

browserSuite('the console of a workspace in a browser', () => {
  let platform: RunningPlatform;
  let browser: Browser;
  let page: Page;
  let botId: string;
  let bot: Client;
  const problems: string[] = [];
  const heading = (name: string) => headingOf(page, name);
  const seriousViolations = () => violationsOf(page);

  beforeAll(async () => {
    buildConsole();
    [platform, browser] = await Promise.all([startEmbedded(), openBrowser()]);
    ({
      bot: { id: botId },
    } = await clientOf(platform).createBot({ name: 'Harbour bot' }));
    bot = clientOf(platform, botId);
    page = await openPage(browser, platform, problems);
    page.on('dialog', (dialog) => void dialog.accept());
    await signIn(page, platform);
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

  const dialog = () => page.getByRole('dialog');
  const cell = (text: string) => page.getByRole('gridcell', { name: text, exact: true });

  describe('tables', () => {
    it('are created with typed columns', async () => {
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

    it('get rows by editors of the types of their columns, which refuse other values', async () => {
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

    it('are edited by keyboard, one row at a time', async () => {
      await page.getByRole('grid').focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      await dialog().waitFor();
      await waitFor(
        () => page.evaluate(() => document.activeElement?.closest('.mantine-InputWrapper-root')?.textContent),
        (label) => label === 'length',
      );
      await page.keyboard.press('Control+A');
      await page.keyboard.type('91');
      await page.keyboard.press('Enter');
      await cell('91').waitFor();

      const { row } = await bot.getTableRow({ table: 'ships', id: 1 });
      expect(row).toMatchObject({ name: 'Aurora', length: 91, cargo: { cars: 40 } });
    });

    it('show the reason why the platform refuses a row', async () => {
      await bot.updateTable({ table: 'ships', keyColumn: 'name' });
      await page.getByRole('button', { name: 'Add a row' }).click();
      await dialog().getByLabel('name').fill('Aurora');
      await dialog().getByRole('button', { name: 'Save' }).click();
      await dialog().getByRole('alert').getByText('another row has the same name').waitFor();
      await page.keyboard.press('Escape');
      await dialog().waitFor({ state: 'hidden' });
    });

    it('import a CSV file, whose refused rows are explained', async () => {
      const lines = ['name,length,isFerry', 'Borealis,20,false', 'Corvus,12,true', 'Draco,long,false'];
      await page.getByRole('tab', { name: 'Import and export' }).click();
      await page.locator('input[type=file]').setInputFiles({
        name: 'ships.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from(lines.join('\n')),
      });
      await page.getByRole('cell', { name: '2, 1 failed' }).waitFor();
      await page.getByRole('cell', { name: 'Draco' }).or(page.getByText('length')).first().waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByRole('tab', { name: 'Rows' }).click();
      await cell('Borealis').waitFor();
    });

    it('are filtered and sorted', async () => {
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByLabel('Column 1', { exact: true }).selectOption('length');
      await page.getByLabel('Comparison 1').selectOption('is at least');
      await page.getByLabel('Value 1').fill('20');
      expect(await seriousViolations()).toEqual([]);
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('2 of 3 rows').waitFor();
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

    it('show the values of computed columns when they are known, and the reason when one failed', async () => {
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

    it('delete a row', async () => {
      await dialog().getByRole('button', { name: 'Delete the row' }).click();
      await page.getByText('No rows').waitFor();

      expect((await bot.findTableRows({ table: 'measures' })).rows).toEqual([]);
    });

    it('order rows by meaning when they are searched', async () => {
      const text = { type: 'string', 'x-zui': { searchable: true } };
      await bot.createTable({ name: 'facts', schema: { type: 'object', properties: { text } } });
      const rows = [{ text: 'The parliament voted on the tax law' }, { text: 'A kitten is lying on the couch' }];
      await bot.createTableRows({ table: 'facts', rows });
      await openBotPage('Tables');
      await page.getByRole('link', { name: 'facts' }).click();
      await page.getByRole('row').nth(1).getByText('parliament').waitFor();
      await page.getByText('cannot be found by search yet').waitFor({ state: 'hidden' });

      await page.getByLabel('Search by meaning').fill('a pet resting on furniture');
      await page.keyboard.press('Enter');
      await page.getByRole('row').nth(1).getByText('kitten').waitFor();
    });

    it('export their rows to a CSV file', async () => {
      await page.getByRole('tab', { name: 'Import and export' }).click();
      await page.getByText('No jobs so far').waitFor();
      await page.getByRole('button', { name: 'Export as CSV' }).click();
      const downloading = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download' }).click();
      const file = await (await downloading).path();

      expect(await readFile(file, 'utf8')).toContain('A kitten is lying on the couch');
      expect(await seriousViolations()).toEqual([]);
    });

    it('show their columns, and are deleted', async () => {
      await page.getByRole('tab', { name: 'Schema' }).click();
      await page.getByRole('cell', { name: 'searchable' }).waitFor();
      expect(await seriousViolations()).toEqual([]);

      await page.getByRole('button', { name: 'Delete the table' }).click();
      await heading('Tables');
      await page.getByRole('link', { name: 'facts' }).waitFor({ state: 'hidden' });
      expect((await bot.listTables({})).tables.map(({ name }) => name)).toEqual(['ships', 'measures']);
    });
  });

  it('reports no error and sends no request to another origin', () => {
    expect(problems).toEqual([]);
  });
});
