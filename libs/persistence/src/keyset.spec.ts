import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import type { QueryRunner } from 'typeorm';
import { type KeyColumn, Keyset } from './keyset';
import type { Migration } from './service-schema';

class Notes1700000000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE TABLE paging.note (id text COLLATE "C" PRIMARY KEY, created_at timestamptz(3) NOT NULL, place int8 NOT NULL)',
    );
  }
}

interface NoteRow {
  id: string;
  created_at: Date;
  place: string;
}

const columns: KeyColumn<NoteRow>[] = [
  { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
  { sql: 'id', type: 'text', of: (row) => row.id },
];
const byTime = new Keyset<NoteRow>(columns);
const byPlace = new Keyset<NoteRow>([{ sql: 'place', type: 'int8', of: (row) => row.place }], 'asc');

describe('Keyset pagination', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase([Notes1700000000000], 'paging');
    // Two hundred rows share eight timestamps, and their ids contain unusual characters.
    await test.database.query(`
      INSERT INTO note SELECT 'note ''" ü ' || n, '2026-01-01'::timestamptz + (n % 8) * interval '1 ms', n
      FROM generate_series(1, 200) AS n`);
  });

  afterAll(() => test.drop());

  async function page(
    keyset: Keyset<NoteRow>,
    token: string | undefined,
    limit: number,
    boundTo: unknown = {},
    condition = 'true',
  ) {
    const values: unknown[] = [];
    const rows = await test.database.query<NoteRow>(
      `SELECT * FROM note WHERE ${condition} AND ${keyset.after(token, boundTo, values)} ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return keyset.page(rows, limit, boundTo);
  }

  async function walk(keyset: Keyset<NoteRow>, limit: number, condition?: string): Promise<NoteRow[]> {
    const seen: NoteRow[] = [];
    let token: string | undefined;
    do {
      const { rows, nextToken } = await page(keyset, token, limit, {}, condition);
      seen.push(...rows);
      token = nextToken;
    } while (token);
    return seen;
  }

  it.each([1, 7, 20, 199, 200, 500])('returns every row once in order, with %i rows per page', async (limit) => {
    const inTime = await walk(byTime, limit);
    const inPlace = await walk(byPlace, limit);

    const expected = await test.database.query<NoteRow>('SELECT * FROM note ORDER BY created_at DESC, id DESC');
    expect(inTime).toEqual(expected);
    expect(inPlace.map(({ place }) => Number(place))).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
  });

  it.each<[string, { from?: string; to?: string }]>([
    ['all', {}],
    ['from a time on', { from: "'2026-01-01 00:00:00.003'" }],
    ['until a time', { to: "'2026-01-01 00:00:00.003'" }],
    ['in a span', { from: "'2026-01-01 00:00:00.001'", to: "'2026-01-01 00:00:00.003'" }],
  ])('returns only rows with the value of the leading column: %s', async (_which, span) => {
    for (const direction of ['asc', 'desc'] as const) {
      const leading = {
        sql: "CASE WHEN place % 3 = 0 THEN 'b' WHEN place % 3 = 1 THEN 'a' ELSE 'c' END",
        value: "'b'",
      };
      const ofB = new Keyset<NoteRow>(columns, direction, { ...leading, ...span });
      const within = `created_at BETWEEN ${span.from ?? "'-infinity'"} AND ${span.to ?? "'infinity'"}`;

      const seen = await walk(ofB, 7, within);

      const expected = await test.database.query<NoteRow>(
        `SELECT * FROM note WHERE place % 3 = 0 AND ${within} ORDER BY created_at ${direction}, id ${direction}`,
      );
      expect(expected.length).toBeGreaterThan(14);
      expect(seen).toEqual(expected);
    }
  });

  it('returns no token on the last page, even if that is full', async () => {
    const { nextToken } = await page(byPlace, undefined, 200);

    expect(nextToken).toBeUndefined();
  });

  it('skips no row when others are added and deleted between pages', async () => {
    const first = await page(byTime, undefined, 50);
    await test.database.query(`INSERT INTO note VALUES ('newer', '2027-01-01', 1000)`);
    await test.database.query('DELETE FROM note WHERE id = $1', [first.rows[49]!.id]);

    const second = await page(byTime, first.nextToken, 200);

    const all = [...first.rows, ...second.rows];
    expect(new Set(all.map(({ id }) => id)).size).toBe(200);
    await test.database.query('INSERT INTO note VALUES ($1, $2, $3)', Object.values(first.rows[49]!));
    await test.database.query(`DELETE FROM note WHERE id = 'newer'`);
  });

  it.each([
    ['empty', () => ''],
    ['not base64', () => '%%%%'],
    ['not JSON', () => encode('{')],
    ['not a list', () => encode('{"a":1}')],
    ['null', () => encode('null')],
    ['of another list', async () => (await page(byPlace, undefined, 5)).nextToken!],
    ['of another filter', async () => (await page(byTime, undefined, 5, { tag: 'a' })).nextToken!],
    ['cut', async () => (await page(byTime, undefined, 5)).nextToken!.slice(0, -12)],
    ['with a key too few', () => forge((entries) => entries.slice(0, -1))],
    ['with a key too many', () => forge((entries) => [...entries, 'x'])],
    ['with a number for a text', () => forge(([mark, time]) => [mark, time, 7])],
    ['with a time that is none', () => forge(([mark, , id]) => [mark, 'yesterday', id])],
    ['with a month that is none', () => forge(([mark, , id]) => [mark, '2026-13-45T00:00:00.000Z', id])],
    ['with the year 0', () => forge(([mark, , id]) => [mark, '0000-01-01T00:00:00.000Z', id])],
    ['with NUL in a text', () => forge(([mark, time]) => [mark, time, 'a\0b'])],
    ['with a text that is too long', () => forge(([mark, time]) => [mark, time, 'x'.repeat(3000)])],
  ])('rejects a page token that is %s', async (_what, token) => {
    await expect(page(byTime, await token(), 5)).rejects.toMatchObject({
      type: 'InvalidQuery',
      code: 400,
      message: expect.stringContaining('nextToken'),
    });
  });

  it.each(['1e3', '', 'abc', '1;DROP TABLE note', '99999999999999999999'])(
    'rejects a page token whose number is %j',
    async (number) => {
      const token = await forge(([mark]) => [mark, number], byPlace);

      await expect(page(byPlace, token, 5)).rejects.toMatchObject({ type: 'InvalidQuery' });
    },
  );

  it('treats a key that looks like SQL as a value', async () => {
    const token = await forge(([mark, time]) => [mark, time, `x'); DROP TABLE note; --`]);

    await expect(page(byTime, token, 5)).resolves.toMatchObject({ rows: expect.any(Array) });
    await expect(test.database.query('SELECT count(*) FROM note')).resolves.toEqual([{ count: '200' }]);
  });

  async function forge(change: (entries: unknown[]) => unknown[], keyset = byTime): Promise<string> {
    const { nextToken } = await page(keyset, undefined, 5);
    return encode(JSON.stringify(change(JSON.parse(Buffer.from(nextToken!, 'base64url').toString()) as unknown[])));
  }
});

function encode(text: string): string {
  return Buffer.from(text).toString('base64url');
}
