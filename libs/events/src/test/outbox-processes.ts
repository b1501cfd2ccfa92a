import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { botDeleted } from '@parley/contracts/admin/bots';
import { Database, type Transaction } from '@parley/persistence/database';
import { newToken } from '@parley/secrets/token';
import { NatsServer } from '@parley/testing/nats-server';
import { run } from '@parley/testing/running-platform';
import { createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { Outbox } from '../outbox';

type Process = ReturnType<typeof run>;

/** Transaction that waits for a commit or rollback after its work. */
interface OpenTransaction<T> {
  result: T;
  commit(): Promise<void>;
  rollBack(): Promise<void>;
}

/**
 * Processes of the distributed mode around one outbox: `admin` relays the events of a test, and `files` consumes them.
 * Triggers record each arrival of an event and each effect that the inbox permits.
 */
export class OutboxProcesses {
  private readonly running: Process[] = [];
  private readonly open: OpenTransaction<unknown>[] = [];

  private constructor(
    readonly nats: NatsServer,
    readonly database: Database,
    private readonly env: Record<string, string>,
    private readonly removeAll: () => Promise<void>,
  ) {}

  static async prepare(): Promise<OutboxProcesses> {
    const [nats, migrated, folder] = await Promise.all([
      NatsServer.start(),
      createMigratedDatabase(),
      mkdtemp(join(tmpdir(), 'parley-outbox-')),
    ]);
    const database = await Database.open({ url: migrated.url, schema: 'admin', migrations: [], poolSize: 8 });
    await database.query(watchers);
    const env = {
      PORT: '0',
      NATS_URL: nats.url,
      DATABASE_URL: migrated.url,
      DATABASE_POOL_SIZE: '3',
      PARLEY_SECRET_KEY: randomBytes(32).toString('hex'),
      PARLEY_BOOTSTRAP_TOKEN: newToken('pat'),
      PUBLIC_URL: 'http://127.0.0.1:1',
      CONTENT_URL: 'http://127.0.0.1:1',
      BLOBS_DIR: join(folder, 'blobs'),
      SHUTDOWN_GRACE_MS: '0',
    };
    return new OutboxProcesses(nats, database, env, async () => {
      await Promise.all([nats.stop(), database.close()]);
      await Promise.all([migrated.drop(), rm(folder, { recursive: true, force: true })]);
    });
  }

  startRelay(): Promise<Process> {
    return this.start('admin');
  }

  startConsumer(): Promise<Process> {
    return this.start('files');
  }

  async stop(): Promise<void> {
    await Promise.all(this.open.map((transaction) => transaction.rollBack()));
    await Promise.all(this.running.map((process_) => process_.stop()));
    await this.removeAll();
  }

  /** Publishes the deletion of `count` bots, each event in its own transaction, several at a time. */
  announceEach(count: number): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, () => this.database.transaction((tx) => this.announce(tx))));
  }

  announceSlowly(): Promise<OpenTransaction<string>> {
    return this.begin((tx) => this.announce(tx));
  }

  async eventIdOf(botId: string): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(`SELECT id FROM outbox WHERE data ->> 'botId' = $1`, [
      botId,
    ]);
    return row!.id;
  }

  /** Number of deliveries of each bot's event. */
  arrivals(botIds: string[]): Promise<number[]> {
    return this.count(
      botIds,
      `SELECT data ->> 'botId' AS "botId" FROM noted.arrival JOIN outbox ON outbox.id = arrival.event_id`,
    );
  }

  /** Number of effects of each bot's event. */
  effects(botIds: string[]): Promise<number[]> {
    return this.count(botIds, `SELECT bot_id AS "botId" FROM noted.effect`);
  }

  /**
   * Blocks relays between publishing and their commit, where they save the position of the stream, until this transaction
   * ends. A commit that waits would be done although its process was killed.
   */
  closeGate(): Promise<OpenTransaction<unknown>> {
    return this.begin((tx) => tx.query('SELECT pg_advisory_xact_lock(1)'));
  }

  async countWaiting(): Promise<number> {
    const rows = await this.database.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
       AND wait_event = 'advisory' AND query LIKE 'INSERT INTO outbox_place%'`,
    );
    return rows.length;
  }

  /** Unpublished rows that no relay holds. */
  async countFree(): Promise<number> {
    const rows = await this.database.query('SELECT 1 FROM outbox WHERE published_at IS NULL FOR UPDATE SKIP LOCKED');
    return rows.length;
  }

  private async announce(tx: Transaction): Promise<string> {
    const botId = randomUUID();
    await new Outbox().add(tx, botDeleted, { botId, workspaceId: 'wkspace_test' });
    return botId;
  }

  private async begin<T>(work: (tx: Transaction) => Promise<T>): Promise<OpenTransaction<T>> {
    let end = (_how: 'commit' | 'rollBack') => {};
    const decision = new Promise<'commit' | 'rollBack'>((resolve) => (end = resolve));
    let ended = Promise.resolve();
    const result = await new Promise<T>((resolve, reject) => {
      ended = this.database.transaction(async (tx) => {
        resolve(await work(tx));
        if ((await decision) === 'rollBack') throw new Error('The test rolls it back.');
      });
      ended.catch(reject);
    });
    const transaction = {
      result,
      commit: () => {
        end('commit');
        return ended;
      },
      rollBack: () => {
        end('rollBack');
        return ended.catch(() => undefined);
      },
    };
    this.open.push(transaction);
    return transaction;
  }

  private async start(app: 'admin' | 'files'): Promise<Process> {
    const process_ = run(`dist/apps/${app}/src/main.js`, this.env);
    this.running.push(process_);
    await process_.said(new RegExp(`${app} is ready`));
    return process_;
  }

  private async count(botIds: string[], sql: string): Promise<number[]> {
    const rows = await this.database.query<{ botId: string }>(sql);
    const counts = new Map<string, number>();
    for (const { botId } of rows) counts.set(botId, (counts.get(botId) ?? 0) + 1);
    return botIds.map((botId) => counts.get(botId) ?? 0);
  }
}

async function createMigratedDatabase(): Promise<EmptyDatabase> {
  const database = await createEmptyDatabase();
  const migrating = run('dist/apps/cli/src/migrate.js', { DATABASE_URL: database.url });
  await migrating.said(/chat: up to date/);
  await migrating.ended;
  return database;
}

/** A trigger before the insert also runs when the row exists and nothing is inserted. */
const watchers = `
  CREATE SCHEMA noted;
  CREATE TABLE noted.arrival (event_id text);
  CREATE TABLE noted.effect (bot_id text);

  CREATE FUNCTION noted.arrival() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO noted.arrival VALUES (NEW.event_id); RETURN NEW; END $$;
  CREATE TRIGGER arrival BEFORE INSERT ON files.inbox FOR EACH ROW EXECUTE FUNCTION noted.arrival();

  CREATE FUNCTION noted.effect() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO noted.effect VALUES (NEW.bot_id); RETURN NEW; END $$;
  CREATE TRIGGER effect BEFORE INSERT ON files.deleted_bot FOR EACH ROW EXECUTE FUNCTION noted.effect();

  CREATE FUNCTION noted.gate() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$;
  CREATE TRIGGER gate BEFORE INSERT ON admin.outbox_place FOR EACH STATEMENT EXECUTE FUNCTION noted.gate();
`;
