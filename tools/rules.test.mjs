import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { complaint } from './names.mjs';

// A rule that cannot fail protects nothing: each one meets a file that breaks it, in a tree of its own.

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const copied = ['.dependency-cruiser.cjs', 'eslint.config.mjs', 'package.json', 'tsconfig.json', 'tsconfig.base.json'];

const bystanders = {
  'apps/files/src/config.ts': 'export const config = 1;',
  'apps/files/src/files.module.ts': 'export class FilesModule {}',
  'apps/files/src/files.repository.ts': "import { Client } from 'pg';\nexport const client = new Client();",
  'apps/files/src/files.service.ts': 'export class FilesService {}',
  'apps/files/src/migrations/1700000000000-start.ts': "export type { MigrationInterface } from 'typeorm';",
  'apps/hub/src/narcissus.ts': "export type { imported } from './echo';",
  'bench/load.ts': 'export const load = 1;',
  'libs/contracts/src/files.ts': "export { IsString } from 'class-validator';",
  'libs/file-store/src/file.entity.ts': 'export class File {}',
};

/** Rule of dependency-cruiser, file, and the import that breaks it there. */
const boundaries = [
  ['apps-know-no-other-app', 'apps/chat/src/plain.ts', '../../files/src/files.module'],
  ['other-apps-only-by-module', 'apps/chat/src/chat.spec.ts', '../../files/src/files.service'],
  ['other-apps-only-by-module', 'apps/cli/src/cli.ts', '../../files/src/config'],
  ['standalone-boots-apps-by-module', 'apps/standalone/src/inner.ts', '../../files/src/files.service'],
  ['libs-know-no-app', 'libs/testing/src/app.ts', '../../../apps/files/src/files.module'],
  ['contracts-know-only-their-validators', 'libs/contracts/src/time.ts', 'ulid'],
  ['contracts-know-only-their-validators', 'libs/contracts/src/system.ts', 'node:fs'],
  ['contracts-know-only-their-validators', 'libs/contracts/src/store.ts', '@parley/file-store/file.entity'],
  ['only-the-bus-knows-nats', 'libs/outbox/src/relay.ts', 'nats'],
  ['only-the-bus-knows-nats', 'bench/rounds.ts', 'nats'],
  ['only-repositories-know-typeorm', 'apps/chat/src/orm.service.ts', 'typeorm'],
  ['only-repositories-know-postgres', 'apps/chat/src/sql.service.ts', 'pg'],
  ['only-one-adapter-knows-qdrant', 'libs/passages/src/local-index.ts', '@qdrant/js-client-rest'],
  ['only-one-adapter-knows-s3', 'apps/files/src/bucket.ts', '@aws-sdk/client-s3'],
  ['only-tracing-knows-opentelemetry', 'apps/files/src/spans.ts', '@opentelemetry/api'],
  ['controllers-know-no-repository', 'apps/files/src/files.controller.ts', './files.repository'],
  ['only-files-know-the-file-store', 'apps/chat/src/store.ts', '@parley/file-store/file.entity'],
  ['the-checker-knows-nothing-of-ours', 'faults/checker/checker.ts', '@parley/contracts/files'],
  ['bench-serves-nobody', 'libs/testing/src/load.ts', '../../../bench/load'],
  ['no-cycles', 'apps/hub/src/echo.ts', './narcissus'],
  ['no-unknown-imports', 'apps/hub/src/nowhere.ts', './nowhere-else'],
  ['no-undeclared-packages', 'apps/hub/src/undeclared.ts', 'acorn'],
  ['no-development-packages-in-production', 'apps/hub/src/tested.ts', 'fast-check'],
];

/** What the rules let through. */
const crossings = [
  ['apps/cli/src/boot.ts', '../../files/src/files.module'],
  ['apps/files/src/files.spec.ts', '@parley/file-store/file.entity'],
  ['apps/hub/src/peer.spec.ts', '../../files/src/files.module'],
  ['apps/standalone/src/main.ts', '../../files/src/files.module'],
  ['apps/standalone/src/config.ts', '../../files/src/config'],
  ['bench/bare-floor.ts', 'nats'],
  ['bench/bare-table.ts', 'pg'],
  ['libs/bus/src/nats.ts', 'nats'],
  ['libs/contracts/src/client.spec.ts', '@botpress/client'],
  ['libs/local-postgres/src/cluster.ts', 'pg'],
  ['libs/passages/src/qdrant-index.ts', '@qdrant/js-client-rest'],
  ['libs/blobs/src/s3-blobs.ts', '@aws-sdk/client-s3'],
  ['faults/checker/facts.ts', 'pg'],
  ['deploy/test/keys.spec.ts', 'nats'],
];

/** Rule of ESLint, file, and the source that breaks it. */
const lint = [
  ['no-restricted-imports', 'libs/contracts/src/optional.ts', "export { IsOptional } from 'class-validator';"],
  ['no-restricted-syntax', 'libs/contracts/src/enumeration.ts', 'export enum Colour { Red }'],
  ['no-restricted-syntax', 'libs/contracts/src/barrel.ts', "export * from './files';"],
  ['no-restricted-syntax', 'apps/hub/src/only.spec.ts', "it.only('runs alone', () => undefined);"],
  ['no-restricted-syntax', 'apps/hub/src/skip.spec.ts', "describe.skip('never runs', () => undefined);"],
  ['no-restricted-syntax', 'apps/hub/src/xit.spec.ts', "xit('never runs', () => undefined);"],
  ['no-console', 'apps/hub/src/print.ts', "console.log('hello');"],
  ['no-empty', 'apps/hub/src/swallow.ts', 'try { JSON.parse(process.title); } catch {}'],
  ['@typescript-eslint/no-explicit-any', 'apps/hub/src/untyped.ts', 'export const value: any = 1;'],
  ['@typescript-eslint/no-floating-promises', 'apps/hub/src/floating.spec.ts', 'Promise.resolve(1);'],
  ['@typescript-eslint/await-thenable', 'apps/hub/src/thenable.ts', 'export const one = async () => await 1;'],
  [
    '@typescript-eslint/no-misused-promises',
    'apps/hub/src/misused.ts',
    'export const one = () => (Promise.resolve(false) ? 1 : 2);',
  ],
  [
    '@typescript-eslint/switch-exhaustiveness-check',
    'apps/hub/src/exhaustive.ts',
    "export const one = (key: 'a' | 'b') => { switch (key) { case 'a': return 1; default: return 2; } };",
  ],
  [
    '@typescript-eslint/consistent-type-imports',
    'apps/hub/src/types.ts',
    "import { File } from '@parley/file-store/file.entity';\nexport const same = (file: File) => file;",
  ],
];

/** What lint lets through. */
const lintFree = {
  'apps/cli/src/print.ts': "console.log('hello');",
  'apps/hub/src/server.spec.ts':
    "const suite = process.env.URL ? describe : describe.skip;\nsuite('runs', () => undefined);",
  // Nest reads the class at run time: `import type` would leave it nothing to inject.
  'apps/hub/src/hub.controller.ts': [
    "import { Controller } from '@nestjs/common';",
    "import { File } from '@parley/file-store/file.entity';",
    '@Controller()',
    'export class HubController { constructor(readonly file: File) {} }',
  ].join('\n'),
};

const names = [
  ['apps/files/src/index.ts', 'index.ts'],
  ['apps/files/src/utils/text.ts', 'utils'],
  ['libs/common/src/text.ts', 'common'],
  ['apps/files/src/helpers/text.ts', 'helpers'],
  ['libs/shared/src/text.ts', 'shared'],
  ['apps/files/src/files.dto.ts', 'dto'],
  ['apps/files/src/files.e2e.spec.ts', 'e2e'],
  ['apps/files/src/filesStore.ts', 'kebab-case'],
];
const goodNames = [
  'main.ts',
  'files.worker.ts',
  'files-list.spec.ts',
  'migrations/1700000000000-start.ts',
  'modules.d.ts',
];

let tree;

before(() => {
  tree = mkdtempSync(join(tmpdir(), 'parley-rules-'));
  copied.forEach((file) => cpSync(join(root, file), join(tree, file)));
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  const files = [
    ...Object.entries(bystanders),
    ...Object.entries(lintFree),
    ...boundaries.map(([, file, target]) => [file, importing(target)]),
    ...crossings.map(([file, target]) => [file, importing(target)]),
    ...lint.map(([, file, source]) => [file, source]),
  ];
  for (const [file, source] of files) {
    mkdirSync(dirname(join(tree, file)), { recursive: true });
    writeFileSync(join(tree, file), `${source}\n`);
  }
});

after(() => rmSync(tree, { recursive: true, force: true }));

describe('boundaries', () => {
  let violations;
  before(() => {
    const { summary } = run(
      'dependency-cruiser/bin/dependency-cruise.mjs',
      '--output-type',
      'json',
      'apps',
      'libs',
      'bench',
      'faults',
      'deploy',
    );
    violations = summary.violations.map(({ rule, from }) => `${rule.name} ${from}`);
  });

  for (const [rule, file, target] of boundaries) {
    it(`${file} may not import ${target}`, () =>
      assert.ok(violations.includes(`${rule} ${file}`), violations.join('\n')));
  }
  for (const [file, target] of crossings) {
    it(`${file} may import ${target}`, () =>
      assert.deepEqual(
        violations.filter((line) => line.endsWith(` ${file}`)),
        [],
      ));
  }
  it('has a case for every rule', async () => {
    const { default: config } = await import('../.dependency-cruiser.cjs');
    const proven = boundaries.map(([rule]) => rule);
    assert.deepEqual(
      config.forbidden.map(({ name }) => name).filter((name) => !proven.includes(name)),
      [],
    );
  });
});

describe('lint', () => {
  let complaints;
  before(() => {
    const results = run('eslint/bin/eslint.js', '--format', 'json', 'apps', 'libs', 'bench', 'faults');
    complaints = results.flatMap(({ filePath, messages }) =>
      messages.map(({ ruleId }) => `${ruleId} ${relative(tree, filePath)}`),
    );
  });

  for (const [rule, file] of lint) {
    it(`${rule} fails in ${file}`, () => assert.ok(complaints.includes(`${rule} ${file}`), complaints.join('\n')));
  }
  for (const file of Object.keys(lintFree)) {
    it(`${file} is fine`, () =>
      assert.deepEqual(
        complaints.filter((line) => line.endsWith(` ${file}`)),
        [],
      ));
  }
});

describe('names', () => {
  for (const [path, reason] of names) it(`${path} is refused`, () => assert.match(complaint(path), new RegExp(reason)));
  for (const name of goodNames) it(`${name} is fine`, () => assert.equal(complaint(`apps/files/src/${name}`), null));
});

function importing(target) {
  return `export * as imported from '${target}';`;
}

/** Runs a tool of node_modules in the tree and reads the JSON that it prints. */
function run(program, ...args) {
  const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', program), ...args], {
    cwd: tree,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  assert.ok(stdout, stderr);
  return JSON.parse(stdout);
}
