import { opendir, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterBackup, findServerUrl, readMajor } from '@parley/local-postgres/cluster-backup';
import { DataFolder, DataFolderInUse } from '@parley/local-postgres/data-folder';
import { startLocalPostgres } from '@parley/local-postgres/local-postgres';
import { CommandFailed } from '../output';
import { ArchiveWriter } from './archive';
import { ReferencedContentsRepository } from './referenced-contents.repository';
import { Progress } from './progress';

/** Longest wait for the Postgres of a platform that is still starting, in milliseconds. */
const serverPatienceMs = 60_000;
/** Not archived from the data folder: state of the running process and machine, and files that are copied separately. */
const leftOut =
  /^(parley\.lock|postgres|blobs|postgres\.log.*|postgres-programs-.*|postgres\.new-.*)$|\.new$|^parley\.lock\./;
const showedMissing = 10;

/**
 * Writes the data of the embedded mode to an archive, whether Parley is running or not. Order (docs/decisions/0007-embedded-postgres-and-backup.md):
 * hold contents so that none is removed, copy the database as of the end of the copy, then the keys, then the contents.
 */
export async function backUp(
  folder: string,
  file: string,
  write: (text: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const blobs = resolve(process.env['BLOBS_DIR'] || join(folder, 'blobs'));
  await check(folder, blobs, file);
  const server = await openServer(folder, signal);
  try {
    const head = { format: 1 as const, postgres: (await readMajor(folder))!, createdAt: new Date().toISOString() };
    const archive = await ArchiveWriter.create(file, head, signal);
    const progress = new Progress(write, () => archive.bytes);
    try {
      const missing = await fill(archive, { folder, blobs, url: server.url }, progress);
      await archive.complete();
      progress.end();
      if (missing.length > 0) throw new CommandFailed(incomplete(file, blobs, missing));
      return `${file}: ${(await stat(file)).size} bytes. It contains the secret key: store it like a password.`;
    } finally {
      progress.end();
      await archive.abandon();
    }
  } finally {
    await server.close();
  }
}

async function fill(
  archive: ArchiveWriter,
  { folder, blobs, url }: { folder: string; blobs: string; url: string },
  progress: Progress,
): Promise<string[]> {
  const cluster = await ClusterBackup.begin(folder, url);
  try {
    progress.show('database');
    await archive.addFolder('postgres');
    for await (const path of cluster.paths()) {
      const name = `postgres/${path}`;
      if (path.endsWith('/')) await archive.addFolder(name.slice(0, -1));
      else await archive.addChanging(name, join(folder, name));
    }
    const { label, control, logFiles } = await cluster.end();
    await archive.addText('postgres/global/pg_control', control);
    await archive.addText('postgres/backup_label', label);
    for (const name of logFiles) {
      await archive.addFile(`postgres/pg_wal/${name}`, join(folder, 'postgres', 'pg_wal', name));
    }

    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isFile() && !leftOut.test(entry.name)) await archive.addFile(entry.name, join(folder, entry.name));
    }

    progress.show('contents');
    await archive.addFolder('blobs');
    await addContents(archive, blobs);
    return await new ReferencedContentsRepository(cluster.client).listMissingIn(blobs);
  } finally {
    await cluster.close();
  }
}

/** Adds all contents but unfinished uploads. Only contents deleted before the backup may disappear meanwhile. */
async function addContents(archive: ArchiveWriter, blobs: string, below = ''): Promise<void> {
  const entries = await opendir(join(blobs, below)).catch(ignoreMissing);
  for await (const entry of entries) {
    const path = `${below}${entry.name}`;
    if (path === 'incoming') continue;
    if (entry.isDirectory()) await addContents(archive, blobs, `${path}/`);
    else if (entry.isFile()) await archive.addChanging(`blobs/${path}`, join(blobs, path));
  }
}

async function check(folder: string, blobs: string, file: string): Promise<void> {
  const elsewhere = ['DATABASE_URL', 'S3_BUCKET'].find((name) => process.env[name]);
  if (elsewhere) {
    throw new CommandFailed(
      `${elsewhere} is set: back up data outside of the data folder with the tools of its server.`,
    );
  }
  if ((await readMajor(folder)) === null) {
    throw new CommandFailed(`No database in ${folder}: set PARLEY_DATA_DIR to the data folder of Parley.`);
  }
  for (const source of [folder, blobs]) {
    if (!relative(resolve(source), resolve(file)).startsWith('..')) {
      throw new CommandFailed(`${file} is inside ${source}, which is backed up: choose a place outside of it.`);
    }
  }
}

/**
 * Connects to the Postgres of the running platform, or starts one and takes the lock of the folder, so that no platform
 * can start meanwhile.
 */
async function openServer(folder: string, signal: AbortSignal): Promise<{ url: string; close: () => Promise<void> }> {
  const deadline = Date.now() + serverPatienceMs;
  for (;;) {
    try {
      return await startServer(await DataFolder.claim(folder), signal);
    } catch (error) {
      if (!(error instanceof DataFolderInUse)) throw error;
      const url = await findServerUrl(folder);
      if (url) return { url, close: () => Promise.resolve() };
      if (Date.now() > deadline) {
        throw new CommandFailed(
          `Process ${error.owner.pid} uses ${folder} but runs no Postgres there. If DATABASE_URL is set for it, back up with the tools of that server; otherwise stop it and try again.`,
        );
      }
      await sleep(100, undefined, { signal });
    }
  }
}

async function startServer(claimed: DataFolder, signal: AbortSignal) {
  try {
    const postgres = await startLocalPostgres({ folder: claimed.path, signal });
    const close = async () => {
      await postgres.stop();
      await claimed.release();
    };
    return { url: postgres.url, close };
  } catch (error) {
    await claimed.release();
    throw error;
  }
}

function incomplete(file: string, blobs: string, missing: string[]): string {
  const shown = missing.slice(0, showedMissing).map((key) => `  ${key}`);
  const more = missing.length > shown.length ? [`  and ${missing.length - shown.length} more`] : [];
  return [
    `${file} is written, but ${missing.length} contents that the database refers to are not in ${blobs}.`,
    'If Parley runs with another BLOBS_DIR, set the same value and back up again. Otherwise they were lost before:',
    ...shown,
    ...more,
  ].join('\n');
}

function ignoreMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
