import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outcome } from './audit.mjs';
import { complaints, isAllowed } from './licences.mjs';
import { missing } from './sbom.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

it('takes one licence of a choice, and all of a sum', () => {
  const taken = ['MIT', '(MIT OR GPL-3.0-or-later)', '(MIT AND Zlib)', 'GPL-2.0-only OR Apache-2.0'];
  const refused = [
    'GPL-3.0-only',
    '(MIT AND GPL-3.0-only)',
    'UNLICENSED',
    'SEE LICENSE IN x',
    'BSD',
    '',
    '(MIT OR (X))',
  ];

  assert.deepEqual(
    taken.filter((expression) => !isAllowed(expression)),
    [],
  );
  assert.deepEqual(refused.filter(isAllowed), []);
});

it('names what is shipped under another licence or under none, and nothing of development', () => {
  const packages = {
    '': { version: '1.0.0' },
    'node_modules/good': { version: '1.0.0', license: 'MIT' },
    'node_modules/tool': { version: '1.0.0', license: 'GPL-3.0-only', dev: true },
    'node_modules/a/node_modules/@of/bad': { version: '2.0.0', license: 'AGPL-3.0-only' },
    'node_modules/silent': { version: '3.0.0' },
    'node_modules/installed': { version: '4.0.0' },
  };

  assert.deepEqual(
    complaints(packages, (path) => (path === 'node_modules/installed' ? 'ISC' : undefined)),
    ['@of/bad@2.0.0: its licence is AGPL-3.0-only.', 'silent@3.0.0: it tells no licence.'],
  );
});

it('fails for weaknesses that weigh, and says when the registry does not tell', () => {
  const report = (severity) => JSON.stringify({ vulnerabilities: { x: { name: 'x', severity, range: '<2' } } });

  assert.deepEqual(outcome(report('high')), { weak: ['x <2: high'] });
  assert.deepEqual(outcome(report('low')), { weak: [] });
  assert.match(outcome('{"message":"405 Method Not Allowed"}').skipped, /405/);
  assert.ok(outcome('').skipped);
});

it('makes a bill of materials with every direct dependency', () => {
  const { status, stdout } = spawnSync(process.execPath, ['tools/sbom.mjs'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64_000_000,
  });
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

  assert.equal(status, 0);
  assert.deepEqual(missing(JSON.parse(stdout), dependencies), []);
  assert.deepEqual(missing(JSON.parse(stdout), { nothing: '1.0.0', jest: devDependencies.jest }), [
    'nothing@1.0.0',
    `jest@${devDependencies.jest}`,
  ]);
});
