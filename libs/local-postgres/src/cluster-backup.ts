import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { contentHold } from '@parley/database/content-hold';
import { superuser } from './cluster';
import { readPidFile } from './pid-file';

/** Where the server runs that has the data files in `<folder>/postgres`. Null when none takes connections there. */
export async function findServerUrl(folder: string): Promise<string | null> {
  const pidFile = await readPidFile(join(folder, 'postgres'));
  if (!pidFile?.isReady) return null;
  const password = await readFile(join(folder, 'postgres.password'), 'utf8');
  return `postgres://${superuser}:${password}@127.0.0.1:${pidFile.port}/postgres`;
}

/** Major version of Postgres that the data files in `<folder>/postgres` are of. Null when there are none. */
export async function readMajor(folder: string): Promise<number | null> {
  const text = await readFile(join(folder, 'postgres', 'PG_VERSION'), 'utf8').catch(() => null);
  return text === null ? null : Number(text);
}

/**
 * A copy of the data files of a running server, by Postgres's own low-level protocol: what is copied between `begin` and
 * `end` is made consistent, as of `end`, by the log files that `end` names. Everything that the server does for it (backup
 * mode, the slot that keeps the log, the hold on contents) belongs to one session and is over when that is.
 */
export class ClusterBackup {
  private startedAt = '';

  private constructor(
    readonly client: Client,
    private readonly data: string,
  ) {}

  static async begin(folder: string, url: string): Promise<ClusterBackup> {
    const client = new Client({ connectionString: url, application_name: 'backup', keepAlive: true });
    // A session that is lost meanwhile shows in the next statement, which comes in any case.
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

  /** Folders (with `/` at their end) and files to copy, by their path in the data files. A file may vanish or grow meanwhile. */
  async *paths(below = ''): AsyncGenerator<string> {
    const entries = await readdir(join(this.data, below), { withFileTypes: true }).catch((error: unknown) => {
      // A database or a folder of the server's own that was dropped since it was listed.
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

  /** Ends backup mode. The copy needs the file `backup_label` with this text, `global/pg_control` and these log files. */
  async end(): Promise<{ label: string; control: Buffer; logFiles: string[] }> {
    const control = await readSteadily(join(this.data, 'global', 'pg_control'));
    const { rows } = await this.client.query<{ label: string; links: string; file: string }>(
      `SELECT labelfile AS label, spcmapfile AS links, pg_walfile_name(lsn) AS file
       FROM pg_backup_stop(wait_for_archive => false)`,
    );
    const { label, links, file } = rows[0]!;
    if (links) throw new Error('The database has tablespaces outside of its folder, which are not backed up.');
    const names = await readdir(join(this.data, 'pg_wal'));
    const logFiles = names.filter((name) => /^[\dA-F]{24}$/.test(name) && name >= this.startedAt && name <= file);
    if (!logFiles.includes(this.startedAt) || !logFiles.includes(file)) throw new Error('Log files are missing.');
    return { label, control, logFiles: logFiles.sort() };
  }

  /** Gives up what the server does for the backup, if the session still stands. */
  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}

/** Folders whose files are of the running server alone, as Postgres's manual lists them for low-level backups. */
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

/** The server writes this small file at any moment: two reads that agree have not met a write. */
async function readSteadily(path: string): Promise<Buffer> {
  for (;;) {
    const [first, second] = [await readFile(path), await readFile(path)];
    if (first.equals(second)) return second;
  }
}
