// `npm start`: builds what is out of date, then runs the whole platform in this process.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(import.meta.url);

const build = spawnSync(process.execPath, [require.resolve('@nestjs/cli/bin/nest.js'), 'build'], {
  cwd: root,
  encoding: 'utf8',
});
if (build.status !== 0) {
  process.stderr.write(`${build.stdout}${build.stderr}\nThe build failed: see above.\n`);
  process.exit(1);
}

// npm may put a shell between itself and us; what we watch is npm.
if (process.env.npm_lifecycle_event === 'start') process.env.PARLEY_PARENT_PID ??= String(npmPid());

require(join(root, 'dist/apps/standalone/src/main.js'));

function npmPid() {
  const parent = spawnSync('ps', ['-o', 'ppid=,args=', '-p', String(process.ppid)], { encoding: 'utf8' });
  const [, grandparent, command] = /^\s*(\d+)\s+(.*)$/m.exec(parent.stdout ?? '') ?? [];
  const isShell = /^(\S*\/)?(sh|bash|dash|zsh) -c/.test(command ?? '');
  return isShell && grandparent !== '1' ? Number(grandparent) : process.ppid;
}
