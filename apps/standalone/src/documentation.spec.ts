import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { loadedVariables, variablesOf } from '@parley/config/config';
import { droppedVariables } from '@parley/config/dropped-variables';
import { variablesOfParley } from '@parley/config/unknown-variables';
import { formatTexts } from '@parley/documents/format-texts';
import { formats } from '@parley/documents/formats';
import { NatsConfig } from '@parley/service/config';
import { architectureDrawing, architectureTable } from '@parley/testing/architecture-drawing';
import { configurationPage } from '@parley/testing/configuration-page';
import { errorsPage } from '@parley/testing/errors-page';
import { documentLimitsTable, formatsSections } from '@parley/testing/formats-page';
import { expectGenerated } from '@parley/testing/generated-text';
import { operationsTable } from '@parley/testing/operations-table';
import { AdminConfig } from '../../admin/src/config';
import { ChatConfig } from '../../chat/src/config';
import { FilesConfig } from '../../files/src/config';
import { FilesWorkerConfig } from '../../files-worker/src/config';
import { GatewayConfig } from '../../gateway/src/config';
import { HubConfig } from '../../hub/src/config';
import { ModelsConfig } from '../../models/src/config';
import { RunnerConfig } from '../../runner/src/config';
import { RuntimeConfig } from '../../runtime/src/config';
import { TablesConfig } from '../../tables/src/config';
import { StandaloneConfig } from './config';

const decisions = join('docs', 'decisions', '/');
/** Records that are longer than the limit until they are merged. */
const longerRecords = ['0032', '0050', '0055', '0058', '0081', '0098', '0099'];

const apps = [
  { app: 'gateway', type: GatewayConfig },
  { app: 'admin', type: AdminConfig },
  { app: 'hub', type: HubConfig },
  { app: 'files', type: FilesConfig },
  { app: 'files-worker', type: FilesWorkerConfig },
  { app: 'runtime', type: RuntimeConfig },
  { app: 'runner', type: RunnerConfig },
  { app: 'models', type: ModelsConfig },
  { app: 'tables', type: TablesConfig },
  { app: 'chat', type: ChatConfig },
];

describe('the documentation (UPDATE_DOCS=1 npm test -- documentation writes the generated parts)', () => {
  it('lists every variable of the configuration', () => {
    expectGenerated(
      'docs/configuration.md',
      configurationPage([
        ...apps,
        { app: 'every app in distributed mode', type: NatsConfig },
        { app: 'standalone', type: StandaloneConfig },
      ]),
    );
  });

  it('puts no required variable among those that may be set or are rarely needed', () => {
    const [, others] = readFileSync('docs/configuration.md', 'utf8').split('## May be set');

    expect(others).not.toContain('| required |');
    expect(others).toContain('## Rarely needed');
  });

  it('names every variable with our prefix where processes look for unknown ones', () => {
    const prefixed = loadedVariables().filter((name) => name.startsWith('PARLEY_'));

    expect(variablesOfParley).toEqual(expect.arrayContaining(prefixed));
  });

  it('announces no variable as dropped that a process still reads', () => {
    const dropped = Object.keys(droppedVariables);

    expect(loadedVariables().filter((name) => dropped.includes(name))).toEqual([]);
  });

  it('names the apps with and without the secret key in SECURITY.md', () => {
    const text = readFileSync('SECURITY.md', 'utf8').replaceAll(/\s+/g, ' ');
    const [, holders, others] = /- ([\w, -]+) hold the secret key:.*?([\w, -]+) do not have the key\./.exec(text)!;
    const named = (list: string) =>
      list
        .trim()
        .toLowerCase()
        .split(/, | and /)
        .sort();
    const isHolder = ({ type }: (typeof apps)[number]) => variablesOf(type).some(({ field }) => field === 'secretKey');
    const holding = apps
      .filter(isHolder)
      .map(({ app }) => app)
      .sort();
    const without = apps
      .filter((each) => !isHolder(each))
      .map(({ app }) => app)
      .sort();

    expect(named(holders!)).toEqual(holding);
    expect(named(others!)).toEqual(without);
  });

  it('lists every error message', () => {
    expectGenerated('docs/errors.md', errorsPage());
  });

  it('describes every format of documents, with its names, types and limits', () => {
    expect(Object.keys(formatTexts).sort()).toEqual(formats.map(({ name }) => name).sort());
    expectGenerated('docs/formats.md', formatsSections(), 'formats');
    expectGenerated('docs/formats.md', documentLimitsTable(), 'limits');
  });

  it('lists every public operation', () => {
    expectGenerated('docs/api.md', operationsTable(), 'operations');
  });

  it('draws the services, their requests, events and stores', () => {
    expectGenerated('docs/architecture.md', architectureDrawing(), 'drawing');
    expectGenerated('docs/architecture.md', architectureTable(), 'table');
  });

  it('limits the README to 12 kB', () => {
    expect(readFileSync('README.md').length).toBeLessThanOrEqual(12_000);
  });

  it('limits decision records to 40 of 600 words, and their list to 500 words', () => {
    const lengths = decisionPages().map((page) => ({
      page,
      words: readFileSync(page, 'utf8').trim().split(/\s+/).length,
    }));

    expect(lengths.length - 1).toBeLessThanOrEqual(40);
    expect(lengths.filter(({ page, words }) => words > maxWordsOf(page))).toEqual([]);
  });

  it('links only to files and headings that exist', () => {
    const broken = pages().flatMap((page) =>
      linksOf(page).filter(({ path, anchor }) => !existsSync(path) || (anchor && !headingsOf(path).includes(anchor))),
    );

    expect(broken).toEqual([]);
  });

  it('reaches every page within two clicks from the README', () => {
    const first = targetsOf('README.md');
    const second = first.filter((path) => path.endsWith('.md')).flatMap(targetsOf);

    const reached = new Set(['README.md', ...first, ...second]);
    expect(pages().filter((page) => !reached.has(page))).toEqual([]);
  });
});

interface Link {
  page: string;
  path: string;
  anchor?: string;
}

function pages(): string[] {
  const nested = ['apps', 'bench', 'deploy', 'docs', 'libs', 'test'].flatMap((folder) =>
    (readdirSync(folder, { recursive: true }) as string[]).map((name) => join(folder, name)),
  );
  return [...readdirSync('.'), ...nested].filter((name) => name.endsWith('.md') && !isFixture(name)).sort();
}

function decisionPages(): string[] {
  return pages().filter((page) => page.startsWith(decisions));
}

function maxWordsOf(page: string): number {
  if (page.endsWith('README.md')) return 500;
  return longerRecords.includes(page.slice(decisions.length, decisions.length + 4)) ? Infinity : 600;
}

/** Documents that tests read. */
function isFixture(path: string): boolean {
  return path.startsWith(join('test', 'fixtures', 'documents'));
}

function linksOf(page: string): Link[] {
  const text = readFileSync(page, 'utf8').replaceAll(/```[\s\S]*?```/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path, anchor] = target.split('#') as [string, string?];
      return { page, path: path ? normalize(join(dirname(page), path)) : page, anchor };
    });
}

function targetsOf(page: string): string[] {
  return linksOf(page).map(({ path }) => path.replace(/\/$/, ''));
}

/** Headings as GitHub makes anchors of them. */
function headingsOf(page: string): string[] {
  if (!page.endsWith('.md')) return [];
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
