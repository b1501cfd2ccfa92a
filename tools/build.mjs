import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(import.meta.url);
const marker = join(root, 'dist', '.built');
const sources = [
  'apps',
  'libs',
  'bench',
  'test/faults',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.base.json',
  '.swcrc',
];

/**
 * Compiles into `dist` if sources have changed; prints errors, and exits on failure.
 * @param say gets a line before and after, since a first build takes several seconds
 */
export function build(say = () => undefined) {
  const started = new Date();
  if (existsSync(marker) && statSync(marker).mtimeMs > Math.max(...sources.map((path) => newest(join(root, path)))))
    return;

  say('Compiling Parley, as at the first start and after each change of its sources …');
  const nest = require.resolve('@nestjs/cli/bin/nest.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [nest, 'build'], { cwd: root, encoding: 'utf8' });
  if (status !== 0) {
    process.stderr.write(`${stdout}${stderr}\nThe build failed: see above.\n`);
    process.exit(1);
  }
  writeFileSync(marker, '');
  // Files changed during the compilation are compiled by the next build.
  utimesSync(marker, started, started);
  say(`Compiled in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

export function newest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build();
