// Enables tools/git-hooks in a git checkout. `npm ci` runs it; elsewhere, such as in an image or an archive, it does nothing.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const hooks = 'tools/git-hooks';
const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });

if (existsSync(join(root, '.git')) && git('--version').status === 0) {
  const current = git('config', 'core.hooksPath').stdout.trim();
  if (current && current !== hooks) console.log(`git hooks are not enabled: core.hooksPath is ${current} already`);
  else if (git('config', 'core.hooksPath', hooks).status !== 0) console.log('git hooks could not be enabled');
}
