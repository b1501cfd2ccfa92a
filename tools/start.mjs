// Builds if sources have changed, then runs the whole platform in this process. Pages are built beside it.
import { spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { arePagesBuilt } from './build-pages.mjs';
import { build, root } from './build.mjs';

build((text) => process.stdout.write(`${text}\n`));
if (!arePagesBuilt()) buildPages();

// npm may put a shell between itself and this process; npm is the process to watch.
if (process.env.npm_lifecycle_event === 'start') process.env.PARLEY_PARENT_PID ??= String(npmPid());

createRequire(import.meta.url)(join(root, 'dist/apps/standalone/src/main.js'));

/** The gateway shows a notice until the build has ended. */
function buildPages() {
  const script = join(root, 'tools/build-pages.mjs');
  const child = spawn(process.execPath, [script, '--background'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += chunk));
  child.on('close', (code) => code && process.stderr.write(`The pages of the gateway could not be built.\n${errors}`));
  child.unref();
  child.stderr.unref();
}

function npmPid() {
  const parent = spawnSync('ps', ['-o', 'ppid=,args=', '-p', String(process.ppid)], { encoding: 'utf8' });
  const [, grandparent, command] = /^\s*(\d+)\s+(.*)$/m.exec(parent.stdout ?? '') ?? [];
  const isShell = /^(\S*\/)?(sh|bash|dash|zsh) -c/.test(command ?? '');
  return isShell && grandparent !== '1' ? Number(grandparent) : process.ppid;
}
