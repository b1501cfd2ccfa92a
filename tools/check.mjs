import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onRuntime } from './runtime.cjs';

// Runs all checks except the tests: `npm run check`. With `-- --fix` it first applies automatic fixes.

await onRuntime();
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const env = { ...process.env, PATH: [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter) };

const fixes = [
  ['lint, mended', 'oxlint', '--fix'],
  ['format, mended', 'oxfmt'],
];

// Longest first, so that no core is idle at the end.
const checks = [
  ['lint and types', 'oxlint'],
  ['format', 'oxfmt', '--check'],
  ['boundaries', 'depcruise', '--output-type', 'err-long', 'apps', 'libs', 'test', 'bench', 'deploy'],
  ['resources', 'depcruise', '--config', '.dependency-cruiser.resources.cjs', '--output-type', 'err-long', 'apps'],
  ['audit', 'node', 'tools/audit.mjs'],
  ['licences', 'node', 'tools/licences.mjs'],
  ['sbom', 'node', 'tools/sbom.mjs'],
  ['names', 'node', 'tools/names.mjs'],
];

if (process.argv.includes('--fix')) for (const fix of fixes) await run(fix);

const waiting = [...checks];
const failed = [];
await Promise.all(Array.from({ length: Math.min(availableParallelism(), checks.length) }, work));

console.log(failed.length > 0 ? `\nFailed: ${failed.join(', ')}` : '\nAll checks passed.');
process.exitCode = failed.length > 0 ? 1 : 0;

async function work() {
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    if (!(await run(check))) failed.push(check[0]);
  }
}

async function run([name, command, ...args]) {
  const start = performance.now();
  const { passed, output } = await capture(command, args);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name.padEnd(14)} ${seconds.padStart(5)} s`);
  if (!passed) console.log(`\n${output.trim()}\n`);
  // Skipped checks must not look like passed ones.
  for (const line of output.match(/^skipped: .*/gm) ?? []) console.log(`       ${line}`);
  return passed;
}

function capture(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, env });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ passed: false, output: error.message }));
    child.on('close', (code) => resolve({ passed: code === 0, output }));
  });
}
