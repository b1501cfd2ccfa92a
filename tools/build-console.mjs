// Builds the console into `dist/console` if its sources have changed, with compressed copies of its files.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { newest, root } from './build.mjs';

const source = join(root, 'apps/console');
const target = join(root, 'dist/console');
const sources = [source, join(root, 'libs/contracts/src/access.ts'), join(root, 'package-lock.json')];
/** Smaller files do not get smaller on the wire. */
const minBytes = 1_000;

export function isConsoleBuilt() {
  const page = join(target, 'index.html');
  return existsSync(page) && statSync(page).mtimeMs > Math.max(...sources.map(newest));
}

/** Replaces the former build at its end, so that no half of one is served. */
async function buildConsole() {
  // Tests set another one, with which React is four times as large.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  mkdirSync(dirname(target), { recursive: true });
  const folder = join(root, 'dist', `.console-${process.pid}`);
  try {
    await build({ root: source, configFile: join(source, 'vite.config.mjs'), build: { outDir: folder } });
    compress(folder);
    // Another process has built the same meanwhile, and its files may be in use.
    if (isConsoleBuilt()) return;
    rmSync(target, { recursive: true, force: true });
    renameSync(folder, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compress(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    const path = join(folder, name);
    if (!/\.(js|css|svg)$/.test(name) || statSync(path).size < minBytes) continue;
    const content = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(content));
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Beside the start of the platform, which must not take longer.
  if (process.argv.includes('--background')) setPriority(constants.priority.PRIORITY_LOW);
  if (!isConsoleBuilt()) await buildConsole();
}
