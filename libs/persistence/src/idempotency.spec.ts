import { anyone } from '@parley/contracts/access';
import { type Operation, operation } from '@parley/contracts/operation';
import { isReplayed } from '@parley/contracts/replayed';
import { BreakableLink } from '@parley/testing/breakable-link';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { Database, type Sql, type Transaction } from './database';
import { type IdempotencyScope, Idempotency } from './idempotency';
import { idempotencyTables1795392000000 } from './migrations/1795392000000-idempotency-tables';

class Thing {
  name!: string;
}

const createThing = operationOf('things.create');
const createOther = operationOf('things.createOther');
const input: Thing = { name: 'lamp' };
const inFlight = { type: 'ResourceLockedConflict', code: 409, retryAfterSeconds: 1 };

let test: TestDatabase;
let idempotency: Idempotency;
let keys = 0;

beforeAll(async () => {
  test = await createTestDatabase(`${idempotencyTables1795392000000} CREATE TABLE thing (name text)`, 'things');
  idempotency = new Idempotency(test.database);
});

beforeEach(() => test.database.query('DELETE FROM thing'));

afterAll(() => test.drop());

function operationOf(subject: string): Operation<Thing, Thing> {
  return operation({ subject, summary: 'A probe.', access: anyone, input: Thing, output: Thing });
}

/** Caller with an idempotency key that no other test uses. */
function callerWith(changes: Partial<IdempotencyScope> = {}): IdempotencyScope {
  keys += 1;
  return { idempotencyKey: `key ${keys}`, credential: 'bak', bot: { id: 'bot-1', workspaceId: 'ws-1' }, ...changes };
}

async function insert(tx: Transaction): Promise<{ name: string; number: number }> {
  await tx.query('INSERT INTO thing VALUES ($1)', [input.name]);
  return { name: input.name, number: Math.random() };
}

async function countThings(): Promise<number> {
  return (await test.database.query('SELECT 1 FROM thing')).length;
}

function held() {
  let reach = () => undefined as void;
  let release = () => undefined as void;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const work = async (tx: Transaction) => {
    const answer = await insert(tx);
    reach();
    await released;
    return answer;
  };
  return { work, reached, release };
}

describe('A request without a key', () => {
  it('runs a request without a key each time and stores no answer', async () => {
    const nobody = callerWith({ idempotencyKey: undefined, credential: 'none', bot: undefined });

    await idempotency.run(nobody, createThing, input, insert);
    await idempotency.run(nobody, createThing, input, insert);

    await expect(countThings()).resolves.toBe(2);
    await expect(test.database.query('SELECT 1 FROM idempotency_key')).resolves.toEqual([]);
  });

  it('completes a request without a key after its commit', async () => {
    const nobody = callerWith({ idempotencyKey: undefined });

    const answer = await idempotency.run(nobody, createThing, input, insert, async (made) => ({
      ...made,
      seen: await countThings(),
    }));

    expect(answer).toMatchObject({ name: 'lamp', seen: 1 });
  });
});

describe('A request with a key', () => {
  it('runs a request with a key once and returns the same answer each time, marked as replayed', async () => {
    const who = callerWith();

    const first = await idempotency.run(who, createThing, input, insert);
    const repeats = [
      await idempotency.run(who, createThing, input, insert),
      await idempotency.run(who, createThing, input, insert),
    ];

    expect(repeats).toEqual([first, first]);
    expect([first, ...repeats].map(isReplayed)).toEqual([false, true, true]);
    await expect(countThings()).resolves.toBe(1);
  });

  it('stores a request with a key with its bot, if any', async () => {
    const [ofBot, ofNone] = [callerWith(), callerWith({ bot: undefined })];

    for (const who of [ofBot, ofNone]) await idempotency.run(who, createThing, input, insert);

    const rows = await test.database.query(
      'SELECT bot_id FROM idempotency_key WHERE key = ANY ($1) ORDER BY bot_id NULLS LAST',
      [[ofBot.idempotencyKey, ofNone.idempotencyKey]],
    );
    expect(rows).toEqual([{ bot_id: 'bot-1' }, { bot_id: null }]);
  });

  it('returns the same answer to a key byte for byte, with the order of its fields and any characters', async () => {
    const who = callerWith();
    const strange = { z: 1, a: { y: 'NUL \u0000, half \ud83d, 🦜 "\\', b: [null, 1e21, 0.1] }, '10': true, '9': [] };
    const withProto = { ...strange, list: JSON.parse('[{"__proto__":{"x":1}}]') as unknown };

    const first = await idempotency.run(who, createThing, input, async () => withProto);
    const again = await idempotency.run(who, createThing, input, async () => withProto);

    expect(isReplayed(again)).toBe(true);
    expect(JSON.stringify(again)).toBe(JSON.stringify(first));
  });

  it('stores an answer of many megabytes', async () => {
    const who = callerWith();
    const large = { rows: Array.from({ length: 1_000 }, (_, id) => ({ id, text: `${Math.random()}`.repeat(400) })) };

    await idempotency.run(who, createThing, input, async () => large);
    const again = await idempotency.run(who, createThing, input, async () => large);

    expect(isReplayed(again)).toBe(true);
    expect(JSON.stringify(again)).toBe(JSON.stringify(large));
    expect(JSON.stringify(large).length).toBeGreaterThan(6_000_000);
  });

  it('rejects a request with a key with InvalidPayload when the input differs', async () => {
    const who = callerWith();
    const first = await idempotency.run(who, createThing, input, insert);

    const other = idempotency.run(who, createThing, { name: 'another lamp' }, insert);

    await expect(other).rejects.toMatchObject({
      type: 'InvalidPayload',
      code: 400,
      message: expect.stringMatching(/^The Idempotency-Key was used for a different request\. .* use a new key/),
    });
    await expect(idempotency.run(who, createThing, input, insert)).resolves.toEqual(first);
    await expect(countThings()).resolves.toBe(1);
  });

  it('locks a request with a key until its transaction ends, and replays it afterwards', async () => {
    const who = callerWith();
    const { work, reached, release } = held();
    const first = idempotency.run(who, createThing, input, work);
    await reached;

    await expect(idempotency.run(who, createThing, input, insert)).rejects.toMatchObject(inFlight);
    await expect(idempotency.run(who, createThing, { name: 'x' }, insert)).rejects.toMatchObject(inFlight);
    release();
    const answer = await first;
    const again = await idempotency.run(who, createThing, input, insert);

    expect(again).toEqual(answer);
    await expect(countThings()).resolves.toBe(1);
  });

  it('locks a request with a key for other processes too', async () => {
    const who = callerWith();
    const { work, reached, release } = held();
    const first = idempotency.run(who, createThing, input, work);
    await reached;
    const other = await Database.open({ url: test.url, schema: 'things', migrations: [], poolSize: 1 });

    await expect(new Idempotency(other).run(who, createThing, input, insert)).rejects.toMatchObject(inFlight);

    release();
    const answer = await first;
    await expect(new Idempotency(other).run(who, createThing, input, insert)).resolves.toEqual(answer);
    await other.close();
  });

  it('runs a request with a key once when it is sent thirty times at once', async () => {
    const who = callerWith();

    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, () => idempotency.run(who, createThing, input, insert)),
    );

    const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(new Set(answers.map(({ number }) => number)).size).toBe(1);
    expect(answers.filter((answer) => !isReplayed(answer))).toHaveLength(1);
    refusals.forEach((reason) => expect(reason).toMatchObject(inFlight));
    await expect(countThings()).resolves.toBe(1);
  });

  it('stores no answer when the work of a request throws, and runs it again on a retry', async () => {
    const who = callerWith();
    const reason = new Error('No.');
    const failed = idempotency.run(who, createThing, input, async (tx) => {
      await insert(tx);
      throw reason;
    });
    await expect(failed).rejects.toBe(reason);

    const answer = await idempotency.run(who, createThing, input, insert);

    expect(isReplayed(answer)).toBe(false);
    await expect(countThings()).resolves.toBe(1);
  });

  it('stores no answer when the process of a request ends between effect and answer', async () => {
    const who = callerWith();
    const stopped = idempotency.run(who, createThing, input, async (tx) => {
      const answer = await insert(tx);
      const [backend] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await test.database.query('SELECT pg_terminate_backend($1, 10000)', [backend!.pid]);
      return answer;
    });
    await expect(stopped).rejects.toMatchObject({ code: 503 });

    const answer = await idempotency.run(who, createThing, input, insert);

    expect(isReplayed(answer)).toBe(false);
    await expect(countThings()).resolves.toBe(1);
  });

  it('stores no answer when the work of a request had no effect', async () => {
    const who = callerWith();

    const nothing = await idempotency.run<Thing | undefined>(who, createThing, input, async () => undefined);
    const answer = await idempotency.run(who, createThing, { name: 'other' }, insert);

    expect(nothing).toBeUndefined();
    expect(isReplayed(answer)).toBe(false);
  });

  it('runs afterCommit actions for the first request with a key only', async () => {
    const who = callerWith();
    let announced = 0;
    const work = async (tx: Transaction) => {
      tx.afterCommit(() => (announced += 1));
      return insert(tx);
    };

    await idempotency.run(who, createThing, input, work);
    await idempotency.run(who, createThing, input, work);

    expect(announced).toBe(1);
  });

  it.each(['none', 'user'] as const)(
    'requires an identified caller for a key: with the credential %s, a user',
    async (credential) => {
      const nobody = callerWith({ credential });

      await expect(idempotency.run(nobody, createThing, input, insert)).rejects.toThrow('An anonymous request');
      await expect(countThings()).resolves.toBe(0);
    },
  );
});

describe('The same key', () => {
  const pat = { credential: 'pat', account: { id: 'account-1', email: 'a@example.com' } } as const;
  const chat = { credential: 'user', user: { id: 'user-1' } } as const;

  it.each<[string, Partial<IdempotencyScope>, Partial<IdempotencyScope>]>([
    ['of another bot', {}, { bot: { id: 'bot-2', workspaceId: 'ws-1' } }],
    ['of another account', pat, { ...pat, account: { id: 'account-2', email: 'a@example.com' } }],
    ['of another kind of credential', {}, { ...pat, account: undefined }],
    ['of another installation', { integration: { id: 'i', alias: 'a' } }, { integration: { id: 'i', alias: 'b' } }],
    ['of the bot itself', { integration: { id: 'i', alias: 'a' } }, { integration: undefined }],
    ['of another user', chat, { ...chat, user: { id: 'user-2' } }],
    ['of another workspace', { bot: undefined, workspace: { id: 'ws-1' } }, { bot: undefined, workspace: { id: 'b' } }],
  ])('separates requests with the same key %s', async (_name, one, other) => {
    const first = callerWith(one);
    const second = { ...first, ...other };

    await idempotency.run(first, createThing, input, insert);
    const answer = await idempotency.run(second, createThing, input, insert);

    expect(isReplayed(answer)).toBe(false);
    await expect(countThings()).resolves.toBe(2);
  });

  it('separates requests with the same key of another operation', async () => {
    const who = callerWith();

    await idempotency.run(who, createThing, input, insert);
    const answer = await idempotency.run(who, createOther, input, insert);

    expect(isReplayed(answer)).toBe(false);
  });

  it('does not block requests with the same key of another caller', async () => {
    const who = callerWith();
    const { work, reached, release } = held();
    const first = idempotency.run(who, createThing, input, work);
    await reached;

    await idempotency.run({ ...who, bot: { id: 'bot-2', workspaceId: 'ws-1' } }, createThing, input, insert);

    release();
    await first;
    await expect(countThings()).resolves.toBe(2);
  });
});

describe('Work of a single statement', () => {
  const statement = async (sql: Sql) => {
    const [made] = await sql.query<{ id: string }>('INSERT INTO thing VALUES ($1) RETURNING ctid::text AS id', [
      'lamp',
    ]);
    return made!;
  };

  it('runs a single statement each time without a key', async () => {
    const nobody = callerWith({ idempotencyKey: undefined });

    for (let times = 0; times < 2; times++) await idempotency.runStatement(nobody, createThing, input, statement);

    await expect(countThings()).resolves.toBe(2);
  });

  it('runs a single statement once with a key', async () => {
    const who = callerWith();

    const first = await idempotency.runStatement(who, createThing, input, statement);
    const again = await idempotency.runStatement(who, createThing, input, statement);

    expect(again).toEqual(first);
    expect(isReplayed(again)).toBe(true);
    await expect(countThings()).resolves.toBe(1);
  });
});

describe('The stored answer of a key', () => {
  it('finds the stored answer of a key and marks it as replayed, but finds none before', async () => {
    const who = callerWith();

    const before = await idempotency.find(who, createThing, input);
    const first = await idempotency.run(who, createThing, input, insert);
    const after = await idempotency.find(who, createThing, input);

    expect(before).toBeUndefined();
    expect(after).toEqual(first);
    expect(isReplayed(after)).toBe(true);
  });

  it('finds no stored answer without a key', async () => {
    const nobody = callerWith({ idempotencyKey: undefined, credential: 'none' });

    await expect(idempotency.find(nobody, createThing, input)).resolves.toBeUndefined();
  });

  it('finds the stored answer of a key for the same input only', async () => {
    const who = callerWith();
    await idempotency.run(who, createThing, input, insert);

    const other = idempotency.find(who, createThing, { name: 'another lamp' });

    await expect(other).rejects.toMatchObject({ type: 'InvalidPayload' });
  });

  it('finds no stored answer of a key until it is complete', async () => {
    const who = callerWith();
    const stopped = idempotency.run(who, createThing, input, insert, () => Promise.reject(new Error('Stopped.')));
    await expect(stopped).rejects.toThrow('Stopped.');

    await expect(idempotency.find(who, createThing, input)).resolves.toBeUndefined();
  });
});

describe('An expired key', () => {
  async function age(who: IdempotencyScope, time: string): Promise<void> {
    await test.database.query('UPDATE idempotency_key SET created_at = now() - $2::interval WHERE key = $1', [
      who.idempotencyKey,
      time,
    ]);
  }

  it('replays a key for 24 hours, and runs its request again afterwards', async () => {
    const who = callerWith();
    const first = await idempotency.run(who, createThing, input, insert);
    await age(who, '23 hours 59 minutes');
    await expect(idempotency.run(who, createThing, input, insert)).resolves.toEqual(first);
    await age(who, '24 hours 1 minute');

    await expect(idempotency.find(who, createThing, input)).resolves.toBeUndefined();
    const next = await idempotency.run(who, createThing, { name: 'other' }, insert);
    const again = await idempotency.run(who, createThing, { name: 'other' }, insert);

    expect(isReplayed(next)).toBe(false);
    expect(again).toEqual(next);
    await expect(countThings()).resolves.toBe(2);
  });

  it('deletes an expired key, and no others', async () => {
    const [old, young] = [callerWith(), callerWith()];
    for (const who of [old, young]) await idempotency.run(who, createThing, input, insert);
    await age(old, '24 hours 1 minute');
    await age(young, '23 hours 59 minutes');

    await idempotency.deleteExpired();

    const keys = await test.database.query<{ key: string }>('SELECT key FROM idempotency_key WHERE key = ANY ($1)', [
      [old.idempotencyKey, young.idempotencyKey],
    ]);
    expect(keys).toEqual([{ key: young.idempotencyKey }]);
  });

  it('deletes expired keys without delay while one is used again', async () => {
    const [used, old] = [callerWith(), callerWith()];
    for (const who of [used, old]) await idempotency.run(who, createThing, input, insert);
    for (const who of [used, old]) await age(who, '25 hours');
    const { work, reached, release } = held();
    const first = idempotency.run(used, createThing, input, work);
    await reached;

    await idempotency.deleteExpired();

    release();
    const answer = await first;
    await expect(idempotency.run(used, createThing, input, insert)).resolves.toEqual(answer);
  });
});

describe('An answer that is completed after the commit', () => {
  const number = (answer: { number: number }) => answer.number;

  it('replays an answer that was completed after the commit unchanged, without completing it again', async () => {
    const who = callerWith();
    let completions = 0;
    const complete = async (made: { name: string; number: number }) => ({ ...made, number: (completions += 1) });

    const first = await idempotency.run(who, createThing, input, insert, complete);
    const again = await idempotency.run(who, createThing, input, insert, complete);

    expect([first, again].map(number)).toEqual([1, 1]);
    expect([first, again].map(isReplayed)).toEqual([false, true]);
    expect(completions).toBe(1);
  });

  it('completes an answer by the retry when the first process ended before', async () => {
    const who = callerWith();
    const stopped = idempotency.run(who, createThing, input, insert, () => Promise.reject(new Error('Stopped.')));
    await expect(stopped).rejects.toThrow('Stopped.');

    const complete = async (made: { name: string; number: number }) => ({ ...made, number: 7 });
    const again = await idempotency.run(who, createThing, input, insert, complete);

    expect({ again, isReplayed: isReplayed(again) }).toEqual({ again: { name: 'lamp', number: 7 }, isReplayed: true });
    await expect(countThings()).resolves.toBe(1);
  });

  it('returns OperationTimeout when the database is down at the completion, and the answer to a retry', async () => {
    const who = callerWith();
    const link = await BreakableLink.to(test.url);
    const database = await Database.open({ url: link.url, schema: 'things', migrations: [], poolSize: 1 });
    const first = new Idempotency(database).run(who, createThing, input, insert, async (made) => {
      await link.stop();
      return made;
    });

    await expect(first).rejects.toMatchObject({
      type: 'OperationTimeout',
      message: expect.stringMatching('was processed'),
    });
    const again = await idempotency.run(who, createThing, input, insert, async (made) => ({ ...made, number: 7 }));

    expect({ again, isReplayed: isReplayed(again) }).toEqual({ again: { name: 'lamp', number: 7 }, isReplayed: true });
    await expect(countThings()).resolves.toBe(1);
    await database.close();
  });

  it('returns the answer of the request that ends first to both', async () => {
    const who = callerWith();
    let release = () => undefined as void;
    let reach = () => undefined as void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const slow = idempotency.run(who, createThing, input, insert, async (made) => {
      reach();
      await released;
      return { ...made, number: 1 };
    });
    await reached;

    const fast = await idempotency.run(who, createThing, input, insert, async (made) => ({ ...made, number: 2 }));
    release();

    expect([await slow, fast].map(number)).toEqual([2, 2]);
  });
});
