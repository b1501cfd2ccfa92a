import type { Sql } from '@parley/persistence/database';
import { undone } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import type { SettledEvent } from '@parley/contracts/runtime/deliveries';
import type { EventEntity } from '../events/event.entity';
import { WorkflowsRepository } from '../workflows/workflows.repository';
import { DeliveriesRepository } from './deliveries.repository';

let test: TestDatabase;
let plans: string[];

beforeAll(async () => {
  test = await createTestDatabase(chatDatabase.migrations, chatDatabase.schema);
  const at = `now(), now()`;
  const common = `'{}'::jsonb, '{}'::jsonb`;
  for (const insert of [
    `"user" (bot_id, id, tags, properties, created_at, updated_at)
     SELECT 'bot_' || n % 20, 'user_' || n, ${common}, ${at} FROM generate_series(1, 20000) n`,
    `message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, created_at, updated_at)
     SELECT 'bot_' || n % 20, 'msg_' || n, 'conv_' || n, 'user_' || n, 'text', ${common}, 'incoming', ${at}
     FROM generate_series(1, 20000) n`,
    `event (bot_id, id, type, user_id, message_id, status, created_at)
     SELECT 'bot_' || n % 20, 'evt_' || n, 'message_created', 'user_' || n, 'msg_' || n, 'pending', now()
     FROM generate_series(1, 100000) n`,
    `workflow (bot_id, id, name, event_id, status, input, output, tags, timeout_at, created_at, updated_at)
     SELECT 'bot_' || n % 20, 'wrkflow_' || n, 'w', 'evt_' || n, CASE n % 2 WHEN 0 THEN 'in_progress' ELSE 'listening' END,
       '{}', ${common}, now(), ${at} FROM generate_series(1, 20000) n`,
  ])
    await test.database.query(`INSERT INTO ${insert}`);
});

afterAll(() => test?.drop());

beforeEach(() => {
  plans = [];
});

/** Runs each statement with EXPLAIN, with the plan for any values that a prepared statement keeps. Undoes its changes. */
const explaining = {
  query: (text: string, values: (string | number | null)[]) =>
    undone(test.database, async (tx) => {
      await tx.query(`SET LOCAL plan_cache_mode = force_generic_plan`);
      await tx.query(`PREPARE explained AS ${text}`);
      const given = values
        .map((value) => (value === null ? 'NULL' : `'${String(value).replaceAll(`'`, `''`)}'`))
        .join(', ');
      const rows = await tx.query<Record<string, string>>(
        `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE explained (${given})`,
      );
      await tx.query('DEALLOCATE explained');
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return tx.query(text, values);
    }),
} as unknown as Sql;

const pendingEvent = {
  ...{ bot_id: 'bot_0', id: 'evt_20000', payload: null },
  ...{ message_id: 'msg_20000', user_id: 'user_20000', conversation_id: 'conv_20000' },
} as EventEntity;

const ids = Array.from({ length: 50 }, (_, n) => n + 1);

const deliveries = () => new DeliveriesRepository(explaining as never, undefined as never);
const workflows = () => new WorkflowsRepository(explaining as never, undefined as never);

type Statement = [string, () => Promise<unknown>];

const settled = (): SettledEvent[] =>
  ids.map((n) => ({
    botId: `bot_${n % 20}`,
    eventId: `evt_${n}`,
    status: 'processed',
    replays: 0,
    failureReason: null,
  }));

const lookups: Statement[] = [
  ['events to settle', () => deliveries().settleWithoutEffects(settled())],
  ['events with effects to settle', () => deliveries().settlePendingEvents(explaining, settled())],
  ['a pending event', () => deliveries().findPendingEvent('bot_2', 'evt_19982')],
  ['the parts of a pending event', () => deliveries().withParts(pendingEvent)],
  [
    'workflows of settled events',
    () =>
      workflows().lockWorkflowsOfEvents(
        explaining,
        ids.map((n) => ({ bot_id: `bot_${n % 20}`, id: `evt_${n}`, workflow_id: `wrkflow_${n}` })),
      ),
  ],
];
async function expectToReadByKey(run: () => Promise<unknown>): Promise<void> {
  await run();

  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) {
    const read = [...plan.matchAll(/rows=(\d+)/g)].map(([, rows]) => Number(rows));
    expect(read.length).toBeGreaterThan(0);
    expect(Math.max(...read)).toBeLessThanOrEqual(ids.length);
    expect(plan).not.toMatch(/Rows Removed by (Filter|Index Recheck): [1-9]\d{2}/);
  }
}

it.each(lookups)('finds %s by key, also before Postgres has statistics', (_name, run) => expectToReadByKey(run));

describe('with statistics', () => {
  beforeAll(() => test.database.query('ANALYZE'));

  it.each(lookups)('finds %s by key with statistics', (_name, run) => expectToReadByKey(run));
});
