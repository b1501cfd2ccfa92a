import type { Client } from '@botpress/client';
import { recurringEventsChanged } from '@parley/contracts/admin/bot-definitions';
import { joinService } from '@parley/testing/joined-service';
import { waitFor } from '@parley/testing/wait-for';
import { ChatModule } from '../chat.module';
import { ChatConfig } from '../config';
import { type ChatService, startChat } from '../test/chat-service';

type RecurringEvents = NonNullable<Parameters<Client['updateBot']>[0]['recurringEvents']>;

interface Kept {
  name: string;
  type: string;
  payload: object;
  cron: string;
  next_at: Date | null;
}

let api: ChatService;

beforeAll(async () => {
  api = await startChat();
});

afterAll(() => api?.stop());

const everySecond = '* * * * * *';
const everyMinute = '* * * * *';
const yearly = '0 0 1 1 *';
const recurring = (cron: string, type = 'ticked', payload = {}) => ({ type, payload, schedule: { cron } });

async function newBot(recurringEvents: Record<string, NonNullable<RecurringEvents[string]>>) {
  const { id } = (await api.alice.client.createBot({ recurringEvents })).bot;
  await waitFor(
    () => kept(id),
    (rows) => rows.length === Object.keys(recurringEvents).length,
  );
  return {
    id,
    update: (changes: RecurringEvents) => api.alice.client.updateBot({ id, recurringEvents: changes }),
  };
}

function kept(botId: string) {
  return api.sql<Kept>(
    'SELECT name, type, payload, cron, next_at FROM chat.recurring_event WHERE bot_id = $1 ORDER BY name',
    [botId],
  );
}

function fired(botId: string) {
  return api.sql<{ type: string; payload: object; status: string; created_at: Date }>(
    'SELECT type, payload, status, created_at FROM chat.event WHERE bot_id = $1 ORDER BY id',
    [botId],
  );
}

async function announce(botId: string, revision: number) {
  await api.publish(recurringEventsChanged, { botId, revision });
}

async function untilConsumed() {
  const waiting = () =>
    api.sql(`SELECT id FROM admin.outbox WHERE published_at IS NULL
      UNION ALL SELECT key FROM events.work WHERE queue = 'chat.keepRecurringEvents'`);
  await waitFor(waiting, (rows) => rows.length === 0);
}

function makeDue(...botIds: string[]) {
  return api.sql("UPDATE chat.recurring_event SET next_at = now() - interval '1 day' WHERE bot_id = ANY ($1)", [
    botIds,
  ]);
}

describe('a recurring event', () => {
  it('creates a pending event of the bot each time a recurring event is due', async () => {
    const { id } = await newBot({ tick: recurring(yearly, 'ticked', { text: 'é' }) });

    for (const count of [1, 2]) {
      await makeDue(id);
      await waitFor(
        () => fired(id),
        (rows) => rows.length === count,
      );
    }

    expect((await fired(id))[1]).toMatchObject({ type: 'ticked', payload: { text: 'é' }, status: 'pending' });
  });

  it('applies the minimum interval to a recurring event that was declared before it existed', async () => {
    const { id } = await newBot({ tick: recurring(yearly) });
    const due = new Date(Math.floor(Date.now() / 1000) * 1000);

    await api.sql('UPDATE chat.recurring_event SET cron = $2, next_at = $3, period_seconds = 1 WHERE bot_id = $1', [
      ...[id, everySecond],
      due,
    ]);

    const rows = await waitFor(
      () => kept(id),
      ([row]) => row!.next_at! > due,
    );
    expect(rows[0]!.next_at).toEqual(new Date(due.getTime() + 60_000));
    expect(await fired(id)).toHaveLength(1);
  });

  it.each([
    ['the clock was two hours ahead when it was last due', everyMinute, 2 * 3_600, 60],
    ['it was computed by a former release', everyMinute, 2 * 3_600, 0],
    ['the clock was two years ahead', yearly, 2 * 366 * 86_400, 365 * 86_400],
  ])('reschedules a recurring event by the current time when %s', async (_case, cron, ahead, period) => {
    const { id } = await newBot({ tick: recurring(cron) });
    const other = await newBot({ tick: recurring(cron) });
    const [{ next_at: right } = { next_at: null }] = await kept(other.id);

    await api.sql(
      `UPDATE chat.recurring_event SET next_at = now() + ($2::int + $3::int) * interval '1 second', period_seconds = $3
       WHERE bot_id = $1`,
      [id, ahead, period],
    );

    // The minute may change meanwhile.
    await waitFor(
      () => kept(id),
      ([row]) => Math.abs(row!.next_at!.getTime() - right!.getTime()) <= 60_000,
    );
  });

  it('stores a recurring event with its next time, or with null if it never matches', async () => {
    const { id } = await newBot({ birthday: recurring(yearly, 'aged', { by: 1 }), never: recurring('0 0 30 2 *') });

    expect(await kept(id)).toEqual([
      { name: 'birthday', type: 'aged', payload: { by: 1 }, cron: yearly, next_at: expect.any(Date) },
      { name: 'never', type: 'ticked', payload: {}, cron: '0 0 30 2 *', next_at: null },
    ]);
    expect((await kept(id))[0]!.next_at!.toISOString()).toMatch(/^\d{4}-01-01T00:00:00\.000Z$/);
    expect(await fired(id)).toEqual([]);
  });

  it('catches up a recurring event once after an outage, and then continues with its schedule', async () => {
    const { id } = await newBot({ minute: recurring(everyMinute), birthday: recurring(yearly, 'aged') });

    await makeDue(id);

    await waitFor(
      () => fired(id),
      (rows) => rows.length >= 2,
    );
    await waitFor(
      () => kept(id),
      (rows) => rows.every(({ next_at }) => next_at!.getTime() > Date.now()),
    );
    const types = (await fired(id)).map(({ type }) => type);
    expect(types.filter((type) => type === 'aged')).toHaveLength(1);
    // One more if a minute has just begun.
    expect(types.filter((type) => type === 'ticked').length).toBeLessThanOrEqual(2);
  });

  it('creates one event when several processes find a recurring event due', async () => {
    const birthdays = Array.from({ length: 40 }, (_, n) => [`birthday-${n}`, recurring(yearly)]);
    const bots = [];
    while (bots.length < 4) bots.push(await newBot(Object.fromEntries(birthdays)));
    const config = Object.assign(new ChatConfig(), api.settings, { sweepIntervalMs: 5 });
    const others = await Promise.all(
      ['second', 'third'].map((name) => joinService(api, name, (platform) => ChatModule.register(config, platform))),
    );

    try {
      for (let round = 1; round <= 5; round += 1) {
        await makeDue(...bots.map(({ id }) => id));
        for (const { id } of bots) {
          await waitFor(
            () => kept(id),
            (rows) => rows.every(({ next_at }) => next_at!.getTime() > Date.now()),
          );
          expect(await fired(id)).toHaveLength(40 * round);
        }
      }
    } finally {
      for (const other of others) await other.stop();
    }
  });

  it('does not create recurring events for a deleted bot', async () => {
    const { id } = await newBot({ birthday: recurring(yearly) });
    const other = await newBot({ birthday: recurring(yearly) });

    await api.sql('INSERT INTO chat.dropped_bot (bot_id) VALUES ($1)', [id]);
    await makeDue(id, other.id);

    await waitFor(
      () => fired(other.id),
      (rows) => rows.length === 1,
    );
    expect(await fired(id)).toEqual([]);
  });
});

describe('a change of recurring events', () => {
  it('adds, replaces and removes recurring events, keeping the next time for an unchanged cron expression', async () => {
    const { id, update } = await newBot({
      same: recurring(yearly),
      other: recurring(yearly),
      gone: recurring(yearly),
    });
    const soon = new Date(Date.now() + 3_600_000);
    await api.sql('UPDATE chat.recurring_event SET next_at = $2, period_seconds = 3700 WHERE bot_id = $1', [id, soon]);

    await update({
      same: recurring(yearly, 'renamed', { a: 1 }),
      other: recurring('0 12 1 6 *'),
      gone: null,
      added: recurring(yearly),
    });

    const rows = await waitFor(
      () => kept(id),
      ([first]) => first?.name === 'added',
    );
    expect(rows).toMatchObject([
      { name: 'added', next_at: expect.any(Date) },
      { name: 'other', cron: '0 12 1 6 *' },
      { name: 'same', type: 'renamed', payload: { a: 1 }, next_at: soon },
    ]);
    expect(rows[1]!.next_at!.toISOString()).toMatch(/^\d{4}-06-01T12:00:00\.000Z$/);
  });

  it('ignores a change of recurring events whose revision is not newer than the stored one', async () => {
    const { id, update } = await newBot({ tick: recurring(yearly) });
    await update({ tick: recurring('0 0 2 1 *') });
    await waitFor(
      () => kept(id),
      ([row]) => row?.cron === '0 0 2 1 *',
    );
    await untilConsumed();
    await api.sql("UPDATE chat.recurring_event SET type = 'untouched' WHERE bot_id = $1", [id]);

    for (const revision of [2, 1, 2]) await announce(id, revision);
    await untilConsumed();

    expect(await kept(id)).toMatchObject([{ type: 'untouched', cron: '0 0 2 1 *' }]);
  });

  it('stores the recurring events that the bot declared last in a quick series of changes', async () => {
    const { id, update } = await newBot({ tick: recurring(yearly) });

    await Promise.all(Array.from({ length: 6 }, (_, n) => update({ [`tick-${n}`]: recurring(yearly) })));
    await update({ tick: null });
    await untilConsumed();

    expect((await kept(id)).map(({ name }) => name)).toEqual(Array.from({ length: 6 }, (_, n) => `tick-${n}`));
  });

  it('stores no recurring events that arrive after the bot was deleted', async () => {
    const { id } = (await api.alice.client.createBot({})).bot;
    await api.alice.client.deleteBot({ id });

    await announce(id, 1);
    await untilConsumed();

    expect(await kept(id)).toEqual([]);
    expect(await api.sql('SELECT * FROM chat.dead_letter')).toEqual([]);
  });
});
