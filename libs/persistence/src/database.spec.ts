import { setImmediate as nextTurn } from 'node:timers/promises';
import { BreakableLink } from '@parley/testing/breakable-link';
import { sentDuring } from '@parley/testing/sent-statements';
import {
  createEmptyDatabase,
  createTestDatabase,
  type EmptyDatabase,
  type TestDatabase,
} from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import { Connection } from 'pg';
import type { QueryRunner } from 'typeorm';
import { Database, OutdatedSchema } from './database';
import { CannotConnect, isStopped, isUniqueViolation } from './errors';
import type { Migration } from './service-schema';

class Things1700000000001 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE things.thing (name text PRIMARY KEY)');
  }
}

class MoreThings1700000000002 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`INSERT INTO things.thing VALUES ('migrated')`);
  }
}

/** Migration that waits until three other processes wait for the migration lock. */
class AfterThreeCame1700000000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    const othersWaiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await waitFor(
      () => runner.query(othersWaiting) as Promise<unknown[]>,
      (others) => others.length === 3,
    );
  }
}

class SlowThings1700000000005 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE things.thing (name text PRIMARY KEY); SELECT pg_sleep(0.2)');
  }
}

class BrokenThings1700000000003 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`INSERT INTO things.thing VALUES ('half')`);
    await runner.query('SELECT no_such_function()');
  }
}

const unavailable = { type: 'Internal', code: 503, retryAfterSeconds: 1 };
const locked = { ...unavailable, message: expect.stringMatching(/^Another request is changing the same data/) };
const tooLong = { ...unavailable, message: expect.stringMatching(/exceeded its time limit/) };
const maybeDone = { type: 'OperationTimeout', code: 504 };

async function hold(database: Database): Promise<() => Promise<void>> {
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  let held!: Promise<void>;
  await new Promise<void>((taken, failed) => {
    held = database.transaction(() => {
      taken();
      return released;
    });
    held.catch(failed);
  });
  return () => {
    release();
    return held;
  };
}

function fatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

async function namesIn(database: Database): Promise<string[]> {
  const rows = await database.query<{ name: string }>('SELECT name FROM thing ORDER BY name');
  return rows.map(({ name }) => name);
}

describe('A transaction', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase([Things1700000000001], 'things');
  });

  beforeEach(() => test.database.query('DELETE FROM thing'));

  afterAll(() => test.drop());

  it('shows the changes of a transaction to others at its commit', async () => {
    let meanwhile: string[] = [];

    const result = await test.database.transaction(async (tx) => {
      await tx.query(`INSERT INTO thing VALUES ('a'), ('b')`);
      meanwhile = await namesIn(test.database);
      return 'result';
    });

    expect(result).toBe('result');
    expect(meanwhile).toEqual([]);
    await expect(namesIn(test.database)).resolves.toEqual(['a', 'b']);
  });

  it('lets Postgres end a transaction that its client has left open for a minute, and release its locks', async () => {
    const settings = await test.database.transaction((tx) => tx.query('SHOW idle_in_transaction_session_timeout'));

    expect(settings).toEqual([{ idle_in_transaction_session_timeout: '1min' }]);
  });

  it('rolls back a transaction and rethrows when its work throws', async () => {
    const reason = new Error('No.');

    const failed = test.database.transaction(async (tx) => {
      await tx.query(`INSERT INTO thing VALUES ('a')`);
      throw reason;
    });

    await expect(failed).rejects.toBe(reason);
    await expect(namesIn(test.database)).resolves.toEqual([]);
  });

  it('reads bytes as they are, in many rows or none', async () => {
    const read = (text: string, ...values: unknown[]) => test.database.transaction((tx) => tx.queryBytes(text, values));
    const many = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);

    const rows = await read('SELECT bytes FROM unnest($1::bytea[]) AS item (bytes)', '{"\\\\x00ff", NULL, "\\\\x"}');
    const large = await read(
      `SELECT decode($1, 'base64') FROM generate_series(1, 3)`,
      Buffer.from(many).toString('base64'),
    );

    expect(rows).toEqual([Uint8Array.of(0, 255), new Uint8Array(0), new Uint8Array(0)]);
    expect(large).toEqual([many, many, many]);
    await expect(read('SELECT $1::bytea WHERE $2 = 3', 'a', 4)).resolves.toEqual([]);
    await expect(read('SELECT convert_to($1, $2)', "it's $2", 'utf8')).resolves.toEqual([
      new Uint8Array(Buffer.from("it's $2")),
    ]);
  });

  it('rolls back a transaction whose bytes cannot be read', async () => {
    const failed = test.database.transaction(async (tx) => {
      await tx.query(`INSERT INTO thing VALUES ('a')`);
      await tx.queryBytes('SELECT nothing FROM nowhere', []);
    });

    await expect(failed).rejects.toThrow('relation "nowhere" does not exist');
    await expect(namesIn(test.database)).resolves.toEqual([]);
  });

  it('runs afterCommit actions after the commit of a transaction, in order', async () => {
    const actions: string[] = [];

    await test.database.transaction(async (tx) => {
      tx.afterCommit(() => actions.push('first'));
      tx.afterCommit(() => actions.push('second'));
      await tx.query(`INSERT INTO thing VALUES ('a')`);
      expect(actions).toEqual([]);
    });

    expect(actions).toEqual(['first', 'second']);
  });

  it('runs no afterCommit action after a rollback', async () => {
    const actions: string[] = [];

    const failed = test.database.transaction(async (tx) => {
      tx.afterCommit(() => actions.push('first'));
      await tx.query('SELECT no_such_function()');
    });

    await expect(failed).rejects.toMatchObject({ code: '42883' });
    expect(actions).toEqual([]);
  });

  it('fails a transaction when its work swallows the error of a statement', async () => {
    const actions: string[] = [];

    const failed = test.database.transaction(async (tx) => {
      tx.afterCommit(() => actions.push('first'));
      await tx.query(`INSERT INTO thing VALUES ('a')`);
      await tx.query(`INSERT INTO thing VALUES ('a')`).catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error;
      });
    });

    await expect(failed).rejects.toThrow('rolled back');
    expect(actions).toEqual([]);
  });

  it('fails a transaction with 503 when its connection breaks between statements, and recovers', async () => {
    const failed = test.database.transaction(async (tx) => {
      const [backend] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await test.database.query('SELECT pg_terminate_backend($1, 10000)', [backend!.pid]);
      // The end of the connection came before the answer: the next turn of the event loop reads it.
      await nextTurn();
      await nextTurn();
      await tx.query('SELECT 1');
    });

    await expect(failed).rejects.toMatchObject(unavailable);
    await expect(namesIn(test.database)).resolves.toEqual([]);
  });

  it('fails a transaction when its connection breaks before the commit', async () => {
    const failed = test.database.transaction(async (tx) => {
      await tx.query(`INSERT INTO thing VALUES ('lost')`);
      const [backend] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await test.database.query('SELECT pg_terminate_backend($1, 10000)', [backend!.pid]);
    });

    await expect(failed).rejects.toMatchObject(unavailable);
    await expect(namesIn(test.database)).resolves.toEqual([]);
  });

  it('fails a transaction with 503 on a deadlock', async () => {
    await test.database.query(`INSERT INTO thing VALUES ('a'), ('b')`);
    let holders = 0;
    const lock = (first: string, second: string) =>
      test.database.transaction(async (tx) => {
        await tx.query('SELECT 1 FROM thing WHERE name = $1 FOR UPDATE', [first]);
        holders += 1;
        await waitFor(() => holders === 2);
        await tx.query('SELECT 1 FROM thing WHERE name = $1 FOR UPDATE', [second]);
      });

    const outcomes = await Promise.allSettled([lock('a', 'b'), lock('b', 'a')]);

    const [failed] = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(failed!.reason).toMatchObject(locked);
  });
});

describe('A lock', () => {
  it('waits for a lock until the lock timeout, then fails with 503', async () => {
    const test = await createTestDatabase([Things1700000000001], 'things');
    await test.database.query(`INSERT INTO thing VALUES ('locked')`);
    const hasty = await Database.open({
      url: test.url,
      schema: 'things',
      migrations: [],
      poolSize: 1,
      lockTimeoutMs: 100,
    });

    await test.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM thing FOR UPDATE');

      await expect(hasty.query(`UPDATE thing SET name = 'changed'`)).rejects.toMatchObject(locked);
    });

    await expect(namesIn(test.database)).resolves.toEqual(['locked']);
    await expect(test.database.query('SHOW lock_timeout')).resolves.toEqual([{ lock_timeout: '5s' }]);
    await hasty.close();
    await test.drop();
  });
});

describe('A database that does not answer', () => {
  let empty: EmptyDatabase;

  beforeAll(async () => {
    empty = await createEmptyDatabase();
  });

  afterAll(() => empty.drop());

  it('returns 503 when no pool connection becomes free in time', async () => {
    const database = await Database.open({
      url: empty.url,
      schema: 'things',
      migrations: [],
      poolSize: 1,
      connectTimeoutMs: 200,
    });
    const giveBack = await hold(database);

    const [query, transaction] = await Promise.allSettled([
      database.query('SELECT 1'),
      database.transaction(async (tx) => tx.query('SELECT 1')),
    ]);

    expect(query).toMatchObject({ status: 'rejected', reason: unavailable });
    expect(transaction).toMatchObject({ status: 'rejected', reason: unavailable });
    await giveBack();
    await expect(database.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await database.close();
  });

  it('waits longer for a silent database until the process has started', async () => {
    const limits = { url: empty.url, schema: 'things', migrations: [], poolSize: 1, connectTimeoutMs: 200 };
    let start!: () => void;
    const started = new Promise<void>((resolve) => (start = resolve));
    const starting = await Database.open({ ...limits, started });
    const running = await Database.open(limits);
    const [giveBack, giveBackOther] = [await hold(starting), await hold(running)];
    const waiting = starting.query('SELECT 1 AS one');

    // The limit of the process that has started has passed twice.
    await expect(running.query('SELECT 1')).rejects.toMatchObject(unavailable);
    await expect(running.query('SELECT 1')).rejects.toMatchObject(unavailable);
    await giveBack();
    await expect(waiting).resolves.toEqual([{ one: 1 }]);

    start();
    const giveBackAgain = await hold(starting);
    await expect(starting.query('SELECT 1')).rejects.toMatchObject(unavailable);
    await Promise.all([giveBackAgain(), giveBackOther()]);
    await Promise.all([starting.close(), running.close()]);
  });

  it('waits once more for a silent database after the process was suspended', async () => {
    const database = await Database.open({
      url: empty.url,
      schema: 'things',
      migrations: [],
      poolSize: 1,
      connectTimeoutMs: 500,
    });
    const giveBack = await hold(database);
    const waiting = database.query('SELECT 1 AS one');

    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    // Due timers fire before the answer of Postgres is read: the timeout fires when the connection comes back.
    await giveBack();

    await expect(waiting).resolves.toEqual([{ one: 1 }]);
    await database.close();
  });

  it('returns 503 at once when too many callers wait, and still serves those', async () => {
    let refused = 0;
    const limits = { maxWaiting: 2, onShed: () => (refused += 1) };
    const database = await Database.open({ url: empty.url, schema: 'things', migrations: [], poolSize: 1, ...limits });
    const giveBack = await hold(database);
    const waiting = [database.query('SELECT 1 AS one'), database.query('SELECT 1 AS one')];

    await expect(database.query('SELECT 1 AS one')).rejects.toMatchObject(unavailable);

    expect(database.use.waiting).toBe(2);
    expect(refused).toBe(1);
    await giveBack();
    expect(await Promise.all(waiting)).toEqual([[{ one: 1 }], [{ one: 1 }]]);
    await expect(database.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await database.close();
  });

  it('lets 2,000 callers wait for a connection', async () => {
    const database = await Database.open({ url: empty.url, schema: 'things', migrations: [], poolSize: 1 });
    const giveBack = await hold(database);
    const waiting = Array.from({ length: 2_000 }, () => database.query('SELECT 1 AS one'));

    await expect(database.query('SELECT 1 AS one')).rejects.toMatchObject(unavailable);

    expect(database.use.waiting).toBe(2_000);
    await giveBack();
    await Promise.allSettled(waiting);
    await database.close();
  });

  it('returns 503 when the connections of a database are cut, and works again afterwards', async () => {
    const database = await Database.open({ url: empty.url, schema: 'things', migrations: [], poolSize: 2 });
    const other = await Database.open({ url: empty.url, schema: 'things', migrations: [], poolSize: 1 });
    const cut = () =>
      other.query(
        'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
    const running = database.query('SELECT pg_sleep(20)');
    const asleep = waitFor(
      () => other.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`),
      (sleepers) => sleepers.length > 0,
    );
    const [, outcome] = await Promise.allSettled([asleep.then(cut), running]);

    await database.query('SELECT 1');
    await cut();
    await waitFor(() => database.use.idle === 0);

    expect(outcome).toMatchObject({ status: 'rejected', reason: unavailable });
    await expect(database.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await Promise.all([database.close(), other.close()]);
  });

  it('returns 503 when a database terminates a connection while it opens, and keeps the process', async () => {
    const link = await BreakableLink.to(empty.url);
    const database = await Database.open({ url: link.url, schema: 'things', migrations: [], poolSize: 2 });
    const giveBack = await hold(database);

    link.lastWords = fatal('57P01', 'terminating connection due to unexpected postmaster exit');
    const asked = database.query('SELECT 1');

    await expect(asked).rejects.toMatchObject(unavailable);
    link.lastWords = undefined;
    await giveBack();
    await expect(database.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    await database.close();
    await link.stop();
  });

  it('reports a silent database with its host at the start, without user and password', async () => {
    const opened = Database.open({
      url: 'postgres://someone:secret@127.0.0.1:1/none',
      schema: 'things',
      migrations: [],
      poolSize: 1,
    });

    const error = await opened.catch((reason: unknown) => reason);

    expect(error).toEqual(
      new Error('Cannot connect to the Postgres of DATABASE_URL at 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1.'),
    );
  });

  it('does not report a database when the pool has all connections that Postgres allows', async () => {
    const url = new URL(empty.url);
    url.username = url.pathname.slice(1);
    url.password = 'secret';
    const owner = await Database.open({ url: empty.url, schema: 'things', migrations: [], poolSize: 1 });
    await owner.query(`CREATE ROLE "${url.username}" LOGIN PASSWORD 'secret' CONNECTION LIMIT 1`);
    const database = await Database.open({ url: url.href, schema: 'things', migrations: [], poolSize: 1 });

    await database.transaction(() => expect(database.ping()).resolves.toBeUndefined());

    await database.close();
    await owner.query(`DROP ROLE "${url.username}"`);
    await owner.close();
  });

  it('returns 503 after a database was closed', async () => {
    const database = await Database.open({ url: empty.url, schema: 'things', migrations: [], poolSize: 1 });

    await database.close();
    await database.close();

    await expect(database.query('SELECT 1')).rejects.toMatchObject(unavailable);
  });
});

describe('A network that drops packets', () => {
  let test: TestDatabase;
  let link: BreakableLink;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase([Things1700000000001], 'things');
  });

  beforeEach(async () => {
    await test.database.query('DELETE FROM thing');
    link = await BreakableLink.to(test.url);
    database = await Database.open({
      url: link.url,
      schema: 'things',
      migrations: [],
      poolSize: 1,
      statementTimeoutMs: 1_000,
    });
  });

  afterEach(async () => {
    await database.close();
    await link.stop();
  });

  afterAll(() => test.drop());

  it('holds a query and its connection for the statement timeout and one more second', async () => {
    link.state = 'swallows everything';

    await expect(database.query('SELECT 1')).rejects.toMatchObject(unavailable);

    link.state = 'carries';
    await expect(database.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
  });

  it('holds a transaction no longer than the statement without an answer', async () => {
    const failing = () =>
      database.transaction(async (tx) => {
        await tx.query(`INSERT INTO thing VALUES ('a')`);
        link.state = 'swallows everything';
        await tx.query(`INSERT INTO thing VALUES ('b')`);
      });

    const sent = await sentDuring(() => expect(failing()).rejects.toMatchObject(unavailable));

    // A ROLLBACK would wait as long again.
    expect(sent.map(({ text }) => text.split(' ')[0])).toEqual(['BEGIN', 'INSERT', 'INSERT']);
    link.state = 'carries';
    await expect(namesIn(database)).resolves.toEqual([]);
  });

  it('returns OperationTimeout when the answer to COMMIT is lost', async () => {
    const actions: string[] = [];

    const failed = database.transaction(async (tx) => {
      tx.afterCommit(() => actions.push('first'));
      await tx.query(`INSERT INTO thing VALUES ('a')`);
      link.state = 'swallows answers';
    });

    await expect(failed).rejects.toMatchObject(maybeDone);
    expect(actions).toEqual([]);
    await expect(namesIn(test.database)).resolves.toEqual(['a']);
  });

  it('returns OperationTimeout when the connection breaks before the answer to a single statement', async () => {
    link.state = 'swallows answers';
    const failing = expect(database.query(`INSERT INTO thing VALUES ('a')`)).rejects.toMatchObject(maybeDone);
    await waitFor(
      () => namesIn(test.database),
      (names) => names.length > 0,
    );

    link.cut();

    await failing;
  });

  it('detects a network that drops packets in time while a database is opened', async () => {
    link.state = 'swallows everything';

    const opened = Database.open({
      url: link.url,
      schema: 'things',
      migrations: [],
      poolSize: 1,
      openTimeoutMs: 500,
    });

    await expect(opened).rejects.toThrow(CannotConnect);
  });
});

describe('A timestamp', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase([Things1700000000001], 'things');
  });

  afterAll(() => test.drop());

  const times = {
    'of today': ["'2026-11-26 13:00:50.123+00'", new Date('2026-11-26T13:00:50.123Z')],
    'without milliseconds': ["'2026-11-26 13:00:50+00'", new Date('2026-11-26T13:00:50Z')],
    'with microseconds': ["'2026-11-26 13:00:50.123999+00'", new Date('2026-11-26T13:00:50.123Z')],
    'of the year 50': ["'0050-01-02 03:04:05+00'", new Date('0050-01-02T03:04:05Z')],
    'before Christ': ["'0044-03-15 12:00:00+00 BC'", new Date('-000043-03-15T12:00:00Z')],
    'of the year 12026': ["'12026-01-02 03:04:05+00'", new Date('+012026-01-02T03:04:05Z')],
    'without an end': ["'infinity'", Infinity],
    absent: ['NULL', null],
  } as const;

  it.each(Object.keys(times) as (keyof typeof times)[])('reads a timestamp as a time: %s', async (name) => {
    const [sql, expected] = times[name];

    const [row] = await test.database.query<{ at: unknown }>(`SELECT ${sql}::timestamptz AS at`);

    expect(row!.at).toEqual(expected);
  });

  it.each(Object.keys(times) as (keyof typeof times)[])('reads a timestamp as ISO 8601: %s', async (name) => {
    const [sql, expected] = times[name];

    const read = test.database.query<{ at: unknown }>(`SELECT ${sql}::timestamptz AS at`, [], undefined, 'timeTexts');

    if (expected === Infinity) await expect(read).rejects.toThrow(RangeError);
    else expect((await read)[0]!.at).toEqual(expected instanceof Date ? expected.toISOString() : expected);
  });

  it('reads the same timestamp in a session with another time zone', async () => {
    const at = await test.database.transaction(async (tx) => {
      await tx.query("SET LOCAL TimeZone = 'Asia/Kolkata'");
      const [row] = await tx.query<{ at: Date }>("SELECT '2026-11-26 13:00:50.123+00'::timestamptz AS at");
      return row!.at;
    });

    expect(at).toEqual(new Date('2026-11-26T13:00:50.123Z'));
  });
});

describe('A statement that takes too long', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase([Things1700000000001], 'things');
  });

  afterAll(() => test.drop());

  it('cancels a statement that takes too long in Postgres with 503 and without effect', async () => {
    const database = await Database.open({
      url: test.url,
      schema: 'things',
      migrations: [],
      poolSize: 1,
      statementTimeoutMs: 200,
    });

    const failed = database.query(`INSERT INTO thing SELECT 'a' FROM pg_sleep(30)`);

    await expect(failed).rejects.toMatchObject(tooLong);
    // Postgres reports the error a moment before the backend becomes idle, and autovacuum workers
    // are listed as active too.
    await waitFor(
      () =>
        test.database.query(
          `SELECT query FROM pg_stat_activity WHERE datname = current_database()
             AND backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()`,
        ),
      (working) => working.length === 0,
      10_000,
    );
    await expect(namesIn(test.database)).resolves.toEqual([]);
    await database.close();
  });

  it('limits a read separately, without changing the limit of other statements', async () => {
    const database = await Database.open({ url: test.url, schema: 'things', migrations: [], poolSize: 1 });

    const stopped = await database.readWithin(100, 'SELECT pg_sleep(30)').catch((error: unknown) => error);
    const done = await database.readWithin(10_000, 'SELECT $1::int AS number', [7]);
    const failed = await database.readWithin(10_000, 'SELECT 1 / 0').catch((error: unknown) => error);
    const written = await database
      .readWithin(10_000, `INSERT INTO thing VALUES ('a')`)
      .catch((error: unknown) => error);
    const limit = await database.query('SHOW statement_timeout');

    expect([stopped, failed, written].map(isStopped)).toEqual([true, false, false]);
    expect({ done, limit }).toEqual({ done: [{ number: 7 }], limit: [{ statement_timeout: '30s' }] });
    await expect(namesIn(test.database)).resolves.toEqual([]);
    await database.close();
  });
});

describe('A database that refuses writes', () => {
  let test: TestDatabase;
  let database: Database;
  let refused: number;

  beforeAll(async () => {
    test = await createTestDatabase([Things1700000000001], 'things');
  });

  beforeEach(async () => {
    refused = 0;
    const onWritesRefused = () => (refused += 1);
    database = await Database.open({ url: test.url, schema: 'things', migrations: [], poolSize: 2, onWritesRefused });
  });

  afterEach(() => database.close());
  afterAll(() => test.drop());

  const failingWith = (code: string, message: string) =>
    `DO $$ BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '${code}'; END $$`;

  it.each([
    ['has a full disk', failingWith('53100', 'could not extend file "base/1": No space left on device')],
    ['has used up its quota', failingWith('58030', 'could not extend file "base/1": Disk quota exceeded')],
    ['is on a disk that is read-only', failingWith('42501', 'could not open file "base/1": Read-only file system')],
  ])('returns WritesRefused when a database %s, and still serves reads', async (_, statement) => {
    const noRoom = {
      type: 'Internal',
      code: 503,
      retryAfterSeconds: 30,
      message: expect.stringMatching(/does not accept writes/),
    };

    await expect(database.query(statement)).rejects.toMatchObject(noRoom);
    await expect(database.transaction((tx) => tx.query(statement))).rejects.toMatchObject(noRoom);

    expect(refused).toBe(2);
    await expect(namesIn(database)).resolves.toEqual([]);
  });

  it('returns WritesRefused while the operator makes a database read-only, and works again later', async () => {
    const write = () => database.query(`INSERT INTO thing VALUES ('a')`);
    await namesIn(database);
    await setReadOnly('on');

    // The pool may still lend a connection that was terminated.
    const failed = await waitFor(
      () => write().catch((error: unknown) => error),
      (error) => (error as { retryAfterSeconds?: number }).retryAfterSeconds === 30,
    );
    expect(failed).toMatchObject({ code: 503 });
    expect(refused).toBe(1);
    await expect(namesIn(database)).resolves.toEqual([]);

    await setReadOnly('off');
    // Connections opened meanwhile are read-only: each failed write ends its own.
    expect(
      await waitFor(() =>
        write().then(
          () => 'written',
          () => undefined,
        ),
      ),
    ).toBe('written');
  });

  it('does not report refused writes when Postgres has no connection left', async () => {
    await expect(database.query(failingWith('53300', 'too many clients'))).rejects.toMatchObject(unavailable);

    expect(refused).toBe(0);
  });

  async function setReadOnly(state: 'on' | 'off'): Promise<void> {
    const name = new URL(test.url).pathname.slice(1);
    await test.database.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = ${state}`);
    await test.database.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
  }
});

describe('Migrations', () => {
  const migrations = [Things1700000000001, MoreThings1700000000002];
  let empty: EmptyDatabase;

  beforeEach(async () => {
    empty = await createEmptyDatabase();
  });

  afterEach(() => empty.drop());

  it('runs each migration once when four processes start at once, even with pools of one', async () => {
    const options = { url: empty.url, schema: 'things', poolSize: 1 };
    const databases = await Promise.all(
      [1, 2, 3, 4].map(() => Database.open({ ...options, migrations: [AfterThreeCame1700000000000, ...migrations] })),
    );

    await Promise.all(databases.map((database) => database.migrate()));

    const [first] = databases;
    await expect(namesIn(first!)).resolves.toEqual(['migrated']);
    await expect(first!.query('SELECT name FROM migration ORDER BY name')).resolves.toHaveLength(3);
    await expect(first!.pendingMigrations()).resolves.toEqual([]);
    await Promise.all(databases.map((database) => database.close()));
  });

  it('lists pending migrations', async () => {
    const before = await Database.open({
      url: empty.url,
      schema: 'things',
      migrations: [Things1700000000001],
      poolSize: 1,
    });
    const after = await Database.open({ url: empty.url, schema: 'things', migrations, poolSize: 1 });

    const untouched = await after.pendingMigrations();
    await before.migrate();
    const behind = await after.pendingMigrations();

    expect(untouched).toEqual(['Things1700000000001', 'MoreThings1700000000002']);
    expect(behind).toEqual(['MoreThings1700000000002']);
    await Promise.all([before.close(), after.close()]);
  });

  it('refuses to migrate a schema of an older development version, and changes nothing', async () => {
    class Newer1700000000003 extends MoreThings1700000000002 {}
    const older = await Database.open({ url: empty.url, schema: 'things', migrations, poolSize: 1 });
    await older.migrate();
    const newer = await Database.open({
      url: empty.url,
      schema: 'things',
      migrations: [Newer1700000000003],
      poolSize: 1,
    });

    await expect(newer.migrate()).rejects.toThrow(OutdatedSchema);
    await expect(newer.pendingMigrations()).rejects.toThrow(
      /^The schema "things" was created by an older development version of Parley or by another program: it has the migration "Things1700000000001"\./,
    );

    await expect(namesIn(older)).resolves.toEqual(['migrated']);
    await expect(older.query('SELECT 1 FROM migration')).resolves.toHaveLength(2);
    await Promise.all([older.close(), newer.close()]);
  });

  it('refuses to migrate a schema with tables of another program, and changes nothing', async () => {
    const options = { url: empty.url, schema: 'things', poolSize: 1 };
    const other = await Database.open({ ...options, migrations: [] });
    await other.query('CREATE SCHEMA things');
    await other.query('CREATE TABLE things.theirs (name text)');
    const database = await Database.open({ ...options, migrations });

    await expect(database.migrate()).rejects.toThrow(/: it has a table "theirs", but no table "migration"\./);

    await expect(other.query('SELECT FROM pg_tables WHERE schemaname = $1', ['things'])).resolves.toHaveLength(1);
    await Promise.all([other.close(), database.close()]);
  });

  it('runs migrations beyond the statement timeout', async () => {
    const options = { url: empty.url, schema: 'things', migrations: [SlowThings1700000000005], poolSize: 1 };
    const database = await Database.open({ ...options, statementTimeoutMs: 100 });
    const unhurried = await Database.open(options);

    await database.migrate();

    await expect(namesIn(unhurried)).resolves.toEqual([]);
    await Promise.all([database.close(), unhurried.close()]);
  });

  it('undoes a failed migration, reports it to the caller only, and lets the next process try', async () => {
    const printed = jest.spyOn(console, 'log').mockImplementation();
    const broken = await Database.open({
      url: empty.url,
      schema: 'things',
      migrations: [Things1700000000001, BrokenThings1700000000003],
      poolSize: 1,
    });

    await expect(broken.migrate()).rejects.toThrow('no_such_function');
    await expect(broken.migrate()).rejects.toThrow('no_such_function');

    await expect(namesIn(broken)).resolves.toEqual([]);
    await expect(broken.pendingMigrations()).resolves.toEqual(['BrokenThings1700000000003']);
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
    await broken.close();
  });

  it('runs migrations of two schemas in one database side by side', async () => {
    class Others1700000000004 implements Migration {
      async up(runner: QueryRunner): Promise<void> {
        await runner.query('CREATE TABLE others.thing (name text PRIMARY KEY)');
      }
    }
    const things = await Database.open({ url: empty.url, schema: 'things', migrations, poolSize: 1 });
    const others = await Database.open({
      url: empty.url,
      schema: 'others',
      migrations: [Others1700000000004],
      poolSize: 1,
    });

    await Promise.all([things.migrate(), others.migrate()]);

    await expect(namesIn(things)).resolves.toEqual(['migrated']);
    await expect(namesIn(others)).resolves.toEqual([]);
    await Promise.all([things.close(), others.close()]);
  });
});

describe('A prepared statement', () => {
  let place: EmptyDatabase;
  let database: Database;

  beforeAll(async () => {
    place = await createEmptyDatabase();
  });

  beforeEach(async () => {
    database = await Database.open({ url: place.url, schema: 'things', migrations: [], poolSize: 1 });
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await database.close();
  });

  afterAll(() => place.drop());

  it('describes the columns of a prepared statement once by each connection', async () => {
    const describe = jest.spyOn(Connection.prototype, 'describe');
    const read = (value: number) =>
      database.query('SELECT $1::int AS value, NULL AS nothing, $2::jsonb AS list', [value, '[1]'], 'value');

    await expect(read(1)).resolves.toEqual([{ value: 1, nothing: null, list: [1] }]);
    await expect(read(2)).resolves.toEqual([{ value: 2, nothing: null, list: [1] }]);
    await expect(read(3)).resolves.toEqual([{ value: 3, nothing: null, list: [1] }]);

    expect(describe).toHaveBeenCalledTimes(1);
  });

  it('runs a prepared statement that returns no columns', async () => {
    await database.query('CREATE TEMP TABLE kept (value int)');
    const store = (value: number) => database.query('INSERT INTO kept VALUES ($1)', [value], 'store');

    await expect(store(1)).resolves.toEqual([]);
    await expect(store(2)).resolves.toEqual([]);

    await expect(database.query('SELECT value FROM kept')).resolves.toEqual([{ value: 1 }, { value: 2 }]);
  });

  it('reads columns of a prepared statement as each call asks for them', async () => {
    const read = (reading: 'values' | 'timeTexts') =>
      database.query("SELECT '2026-11-26 13:00:50.123+00'::timestamptz AS at WHERE $1", [true], 'time', reading);

    const text = { at: '2026-11-26T13:00:50.123Z' };
    await expect(read('timeTexts')).resolves.toEqual([text]);
    await expect(read('values')).resolves.toEqual([{ at: new Date(text.at) }]);
    await expect(read('timeTexts')).resolves.toEqual([text]);
  });

  it('runs a prepared statement after it has failed, the first time and later', async () => {
    const divide = (by: number) => database.query('SELECT 6 / $1::int AS share', [by], 'share');

    await expect(divide(0)).rejects.toThrow('division by zero');
    await expect(divide(2)).resolves.toEqual([{ share: 3 }]);
    await expect(divide(0)).rejects.toThrow('division by zero');
    await expect(divide(3)).resolves.toEqual([{ share: 2 }]);
  });

  it('fails a prepared statement when its columns have changed, as Postgres does', async () => {
    await database.query('CREATE TEMP TABLE changing AS SELECT 1 AS value');
    const read = () => database.query('SELECT * FROM changing WHERE $1', [true], 'all');

    await expect(read()).resolves.toEqual([{ value: 1 }]);
    await database.query('ALTER TABLE changing ADD COLUMN other int');

    await expect(read()).rejects.toThrow('cached plan must not change result type');
  });
});
