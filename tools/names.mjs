import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const roles = [
  'controller',
  'service',
  'repository',
  'entity',
  'module',
  'handler',
  'guard',
  'pipe',
  'filter',
  'spec',
  // Suite that several specs run, each with another adapter.
  'behaviour',
  'worker',
  'child',
  'cache',
  'client',
  'limiter',
  'strategy',
  'interceptor',
];
const bannedFolders = ['common', 'helpers', 'shared', 'utils'];
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** Problem of a source file's name, from its path in the repository; null when it is valid. */
function complaint(path) {
  const folder = path.split('/').find((part) => bannedFolders.includes(part));
  if (folder) return `${path}: name the folder for its purpose, not "${folder}".`;
  if (basename(path) === 'index.ts') return `${path}: import modules by their own path instead of an index.ts.`;

  const [name, ...suffixes] = basename(path)
    .replace(/(\.d)?\.tsx?$/, '')
    .split('.');
  if (!kebabCase.test(name)) return `${path}: file names must be kebab-case.`;
  const isKindOfSpec = ['distributed.spec', 'distributed.long.spec', 'long.spec', 'nightly.spec'].includes(
    suffixes.join('.'),
  );
  if (!isKindOfSpec && (suffixes.length > 1 || suffixes.some((role) => !roles.includes(role)))) {
    return `${path}: "${suffixes.join('.')}" is not a role. Valid roles: ${roles.join(', ')}.`;
  }
  if (suffixes.length === 0 && /^@Injectable\(/m.test(readFileSync(join(root, path), 'utf8'))) {
    return `${path}: the name of a file with an @Injectable class must end in its role. Valid roles: ${roles.join(', ')}.`;
  }
  return null;
}

const complaints = ['apps', 'libs', 'test', 'bench', 'deploy']
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((path) => `${folder}/${path}`))
  .filter((path) => /\.tsx?$/.test(path))
  .map(complaint)
  .filter(Boolean);
complaints.forEach((line) => console.error(line));
process.exitCode = complaints.length > 0 ? 1 : 0;
