import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { contentHold } from '@parley/persistence/content-hold';
import { superuser } from './cluster';
import { readPidFile } from './pid-file';

/** URL of the running server for the data files in `<folder>/postgres`. Null when none accepts connections. */
export async function findServerUrl(folder: string): Promise<string | null> {
  const pidFile = await readPidFile(join(folder, 'postgres'));
  if (!pidFile?.isReady) return null;
  const password = await readFile(join(folder, 'postgres.password'), 'utf8');
  return `postgres://${superuser}:${password}@127.0.0.1:${pidFile.port}/postgres`;
}

/** Major Postgres version of the data files in `<folder>/postgres`. Null when there are none. */
export async function readMajor(folder: string): Promise<number | null> {
  const text = await readFile(join(folder, 'postgres', 'PG_VERSION'), 'utf8').catch(() => null);
  return text === null ? null : Number(text);
}

/**
 * Online backup by Postgres's low-level protocol: copies of the data files taken between `begin` and `end` are
 * consistent as of `end`, with the log files that `end` returns. Backup mode, the replication slot that keeps the log
 * and the hold on contents belong to one session and end with it.
 */
export class ClusterBackup {
  private startedAt = '';

  private constructor(
    readonly client: Client,
    private readonly data: string,
  ) {}

  static async begin(folder: string, url: string): Promise<ClusterBackup> {
    const client = new Client({ connectionString: url, application_name: 'backup', keepAlive: true });
    // A lost session makes the next statement fail, and there always is one.
    client.on('error', () => undefined);
    await client.connect();
    const backup = new ClusterBackup(client, join(folder, 'postgres'));
    try {
      await backup.start();
      return backup;
    } catch (error) {
      await backup.close();
      throw error;
    }
  }

  private async start(): Promise<void> {
    await this.client.query(`SELECT pg_advisory_lock(${contentHold})`);
    const slot = `parley_backup_${process.pid}`;
    await this.client.query('SELECT pg_create_physical_replication_slot($1, true, true)', [slot]);
    const { rows } = await this.client.query<{ file: string }>(
      `SELECT pg_walfile_name(pg_backup_start('parley', fast => true)) AS file`,
    );
    this.startedAt = rows[0]!.file;
  }

  /** Folders (with a trailing `/`) and files to copy, as paths in the data files. A file may vanish or grow meanwhile. */
  async *paths(below = ''): AsyncGenerator<string> {
    const entries = await readdir(join(this.data, below), { withFileTypes: true }).catch((error: unknown) => {
      // Dropped since it was listed: a database, or one of the server's own folders.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    });
    for (const entry of entries) {
      const path = `${below}${entry.name}`;
      if (isLeftOut(path, entry.name)) continue;
      if (entry.isDirectory()) {
        yield `${path}/`;
        yield* this.paths(`${path}/`);
      } else if (!isEmptied.test(below)) {
        yield path;
      }
    }
  }

  /** Ends backup mode. The copy needs `backup_label` with this text, `global/pg_control` and these log files. */
  async end(): Promise<{ label: string; control: Buffer; logFiles: string[] }> {
    const control = await readSteadily(join(this.data, 'global', 'pg_control'));
    const { rows } = await this.client.query<{ label: string; links: string; file: string }>(
      `SELECT labelfile AS label, spcmapfile AS links, pg_walfile_name(lsn) AS file
       FROM pg_backup_stop(wait_for_archive => false)`,
    );
    const { label, links, file } = rows[0]!;
    if (links)
      throw new Error(
        'Cannot back up tablespaces outside of the data folder: move their tables into the default tablespace.',
      );
    const names = await readdir(join(this.data, 'pg_wal'));
    const logFiles = names.filter((name) => /^[\dA-F]{24}$/.test(name) && name >= this.startedAt && name <= file);
    if (!logFiles.includes(this.startedAt) || !logFiles.includes(file))
      throw new Error('Log files are missing: the backup is incomplete. Start it again.');
    return { label, control, logFiles: logFiles.sort() };
  }

  /** Ends the session, and with it backup mode, the slot and the hold. */
  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}

/** Folders whose content belongs to the running server only, listed in the Postgres manual for low-level backups. */
const isEmptied = /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\//;
const ownFiles = new Set(['postmaster.pid', 'postmaster.opts', 'current_logfiles', 'backup_label', 'tablespace_map']);

function isLeftOut(path: string, name: string): boolean {
  return (
    path === 'global/pg_control' ||
    /^pg_replslot\/./.test(path) ||
    ownFiles.has(path) ||
    /^(pgsql_tmp|pg_internal\.init|t\d+_\d+)|\.tmp$/.test(name)
  );
}

/**
 * Reads a small file that the server may write at any moment, until two reads are equal: then no write interrupted
 * them.
 */
async function readSteadily(path: string): Promise<Buffer> {
  for (;;) {
    const [first, second] = [await readFile(path), await readFile(path)];
    if (first.equals(second)) return second;
  }
}
