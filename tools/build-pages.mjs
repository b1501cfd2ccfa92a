// Builds the pages that the gateway serves into `dist`, where their sources have changed, with compressed copies of files.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { newest, root } from './build.mjs';

const pages = {
  console: [join(root, 'apps/console'), join(root, 'libs/contracts/src/access.ts'), join(root, 'package-lock.json')],
  webchat: [join(root, 'apps/webchat'), join(root, 'package-lock.json')],
};
/** Smaller files do not get smaller on the wire. */
const minBytes = 1_000;

export function arePagesBuilt() {
  return Object.keys(pages).every(isBuilt);
}

function isBuilt(name) {
  const page = join(root, 'dist', name, 'index.html');
  return existsSync(page) && statSync(page).mtimeMs > Math.max(...pages[name].map(newest));
}

/** Replaces the former build at its end, so that no half of one is served. */
async function buildPage(name) {
  // Tests set another one, with which React is four times as large.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  const [source] = pages[name];
  const target = join(root, 'dist', name);
  const folder = join(root, 'dist', `.${name}-${process.pid}`);
  mkdirSync(join(root, 'dist'), { recursive: true });
  try {
    await build({ root: source, configFile: join(source, 'vite.config.mjs'), build: { outDir: folder } });
    compress(folder);
    touch(join(folder, 'index.html'));
    // Another process has built the same meanwhile, and its files may be in use.
    if (isBuilt(name)) return;
    rmSync(target, { recursive: true, force: true });
    renameSync(folder, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file that is only copied has the time of its source. */
function touch(path) {
  writeFileSync(path, readFileSync(path));
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
  for (const name of Object.keys(pages)) if (!isBuilt(name)) await buildPage(name);
}
