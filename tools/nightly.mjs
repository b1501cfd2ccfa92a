// Runs what takes too long for each change: `npm run nightly`, or `npm run nightly -- chaos bombs` for some of its parts.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, root } from './build.mjs';
import { onRuntime } from './runtime.cjs';

await onRuntime();
const isRoot = process.getuid?.() === 0;
/** Id of a user without rights, for what must hold for ordinary users too. */
const ordinaryUserId = 64_000;
const folder = mkdtempSync(join(tmpdir(), 'parley-nightly-'));
chmodSync(folder, 0o777);

const seed = Date.now() % 1_000_000;
const jest = ['node', '--max-semi-space-size=64', 'node_modules/jest/bin/jest.js'];
const bombs = ['node', 'tools/run.mjs', 'test/faults/bombs/main'];
const modes = ['embedded', 'distributed'];

const parts = [
  {
    name: 'suites',
    command: [...jest, 'nightly', 'hostile-code', 'faults.distributed'],
    env: { PARLEY_NIGHTLY: '1' },
  },
  { name: 'fuzz', command: [...jest, 'test/fuzz'], env: { FUZZ_CASES: '100', FUZZ_SEED: String(seed) } },
  ...modes.map((mode) => ({
    name: `bombs, ${mode}`,
    command: [...bombs, '--mode', mode],
    lack: !isRoot && 'it needs root',
  })),
  ...modes.flatMap((mode) =>
    ['auto', 'process'].map((isolation) => ({
      name: `bombs, ${mode}, an ordinary user, isolation ${isolation}`,
      command: [...asOrdinaryUser(), ...bombs, '--mode', mode, '--kind', 'attacks', '--isolation', isolation],
      env: { HOME: folder, TMPDIR: folder },
    })),
  ),
  {
    name: 'chaos',
    command: ['node', 'tools/run.mjs', 'test/faults/chaos/main', '--seconds', '600', '--seed', String(seed)],
  },
];

const wanted = process.argv.slice(2);
const chosen = parts.filter(({ name }) => wanted.length === 0 || wanted.some((text) => name.includes(text)));
const results = [];
build();
try {
  for (const part of chosen) run(part);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`\n${results.join('\n')}`);

function run({ name, command: [program, ...args], env, lack }) {
  if (lack) return void results.push(`skipped ${name}: ${lack}`);
  console.log(`\n== ${name}: ${[program, ...args].join(' ')}`);
  const start = performance.now();
  const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  if (status !== 0) process.exitCode = 1;
  results.push(`${status === 0 ? 'ok     ' : 'FAILED '} ${name}, ${((performance.now() - start) / 1000).toFixed(0)} s`);
}

function asOrdinaryUser() {
  return isRoot ? ['setpriv', `--reuid=${ordinaryUserId}`, `--regid=${ordinaryUserId}`, '--clear-groups'] : [];
}
