import type { Database } from '@parley/persistence/database';
import { pagesOf, rowsOf } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { ChatConfig } from '../config';
import { EventRetentionRepository } from './event-retention.repository';
import { EventRetentionService } from './event-retention.service';

const batch = 1_000;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase(chatDatabase.migrations, chatDatabase.schema);
  const insert = (botId: string, created: string, statuses: string[], events: number, due = 'NULL') =>
    test.database.query(
      `INSERT INTO event (bot_id, id, type, payload, status, due_at, created_at)
       SELECT ${botId}, 'evt_${created}' || lpad(n::text, 23, '0'), 'made', '{}', ($1::text[])[n % $2 + 1], ${due}, now()
       FROM generate_series(1, $3) n`,
      [statuses, statuses.length, events],
    );
  const [old, late, recent] = ['01A', '01B', '7ZZ'];
  await insert(`'large'`, old, ['processed', 'processed', 'pending', 'failed'], 24_000);
  await insert(`'large'`, late, ['processed', 'scheduled'], 2_000, `now() + interval '1 day'`);
  await insert(`'large'`, recent, ['processed'], 10_000);
  await insert(`'small_' || n % 2000`, recent, ['processed', 'pending', 'ignored', 'canceled'], 10_000);
  await test.database.query('ANALYZE');
});

afterAll(() => test?.drop());

interface Read {
  rows: number;
  pages: number;
}

/** Measures each statement that deletes before it runs. */
async function deleteOld(): Promise<Read[]> {
  const read: Read[] = [];
  const measured = {
    query: async (text: string, values: unknown[]) => {
      const sent = [{ text, values }];
      if (text.includes('DELETE'))
        read.push({ rows: await rowsOf(test.database, sent), pages: await pagesOf(test.database, sent) });
      return test.database.query(text, values);
    },
  } as Pick<Database, 'query'> as Database;
  const { signal } = new AbortController();
  const service = new EventRetentionService(new EventRetentionRepository(measured), new ChatConfig());
  await service.deleteOld({ signal } as Parameters<typeof service.deleteOld>[0]);
  return read;
}

it('reads only the expired events that a batch deletes, however many the former ones deleted', async () => {
  const read = await deleteOld();

  const full = read.filter(({ rows }) => rows >= 2 * batch);
  expect(Math.max(...read.map(({ rows }) => rows))).toBeLessThan(6 * batch);
  expect(full.length).toBeGreaterThanOrEqual(24);
  expect(Math.max(...full.map(({ pages }) => pages))).toBeLessThan(1.1 * full[0]!.pages);
  expect(await test.database.query(`SELECT DISTINCT left(id, 7) AS created FROM event ORDER BY 1`)).toEqual([
    { created: 'evt_01B' },
    { created: 'evt_7ZZ' },
  ]);
});
