import { Controller, type DynamicModule, Module } from '@nestjs/common';
import type { Delivery, EventMessage } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { systemCaller } from '@parley/contracts/caller';
import { deadLetterOperations } from '@parley/contracts/dead-letters';
import { service as serviceAccess } from '@parley/contracts/access';
import { Empty } from '@parley/contracts/paging';
import { consumer, operation } from '@parley/contracts/operation';
import { Handles } from '@parley/transport/handles';
import { Database } from '@parley/persistence/database';
import { ServiceConfig } from '@parley/service/config';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { plainSchema } from '@parley/testing/plain-schema';
import { deadLettersController } from './dead-letters';
import { DeadLettersRepository } from './dead-letters.repository';
import { Outbox } from './outbox';
import { createOutboxDatabase, Happened, happened, numberOf, type OutboxDatabase } from './test/outbox-database';

const contract = {
  happen: operation({
    subject: 'probe.happen',
    summary: 'Announces.',
    access: serviceAccess,
    input: Happened,
    output: Empty,
  }),
  deadLetters: deadLetterOperations('probe'),
};
const caller = systemCaller('test');

@Controller()
class Picky {
  static broken = true;
  static handled: number[] = [];
  static lastId: string;

  @Consumes(consumer({ name: 'probe.picky', event: happened, maxDeliveries: 1 }))
  async handle({ number }: Happened, { event }: Delivery): Promise<void> {
    if (Picky.broken && number < 10) throw new Error(`It is too small: ${number}.`);
    Picky.handled.push(number);
    Picky.lastId = event.id;
  }
}

@Controller()
class Watchful {
  static seen: EventMessage[] = [];

  @Consumes(consumer({ name: 'probe.watchful', event: happened }))
  async handle(_data: Happened, { event }: Delivery): Promise<void> {
    Watchful.seen.push(event);
  }
}

@Controller()
class ProbeController {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  @Handles(contract.happen)
  async happen(_caller: unknown, input: Happened): Promise<Empty> {
    await this.database.transaction((tx) => this.outbox.add(tx, happened, input));
    return {};
  }
}

@Module({})
class ProbeModule {
  static register(databaseUrl: string, platform: Platform): DynamicModule {
    const config = Object.assign(new ServiceConfig(), { databaseUrl, databasePoolSize: 3 });
    return {
      module: ProbeModule,
      imports: [
        ServiceModule.register({ name: 'probe', contract, database: { ...plainSchema('probe'), config } }, platform),
      ],
      controllers: [ProbeController, Picky, Watchful, deadLettersController(contract.deadLetters)],
    };
  }
}

describe('Dead letters of a service', () => {
  let running: RunningService;

  beforeAll(async () => {
    running = await startService((url, platform) => ProbeModule.register(url, platform));
  });

  afterAll(() => running.stop());

  const list = async () => (await running.call(contract.deadLetters.list, caller, {})).deadLetters;

  it('lists dead letters newest first, and replays them one by one or all together', async () => {
    for (const number of [1, 12, 2, 3]) await running.call(contract.happen, caller, { number });
    await waitFor(async () => (await list()).length === 3);

    const letters = await list();
    const [limited] = (await running.call(contract.deadLetters.list, caller, { limit: 1 })).deadLetters;
    Picky.broken = false;
    const one = await running.call(contract.deadLetters.replay, caller, { id: letters[0]!.id });
    await waitFor(() => Picky.handled.length === 2);
    const rest = await running.call(contract.deadLetters.replay, caller, {});
    await waitFor(() => Picky.handled.length === 4);

    expect(
      letters.every(
        ({ consumer, subject, attempts }) => `${consumer} ${subject} ${attempts}` === 'probe.picky probe.happened 1',
      ),
    ).toBe(true);
    expect(letters.map(({ reason }) => reason).sort()).toEqual(
      [1, 2, 3].map((number) => `It is too small: ${number}.`),
    );
    expect(limited).toEqual(letters[0]);
    expect([one, rest]).toEqual([{ replayed: 1 }, { replayed: 2 }]);
    expect(Picky.handled.sort((a, b) => a - b)).toEqual([1, 2, 3, 12]);
    await expect(list()).resolves.toEqual([]);
  });

  it('replays dead letters under the id of their event, and to their consumer only', async () => {
    const seen = (wanted: number) => Watchful.seen.filter((event) => numberOf({ event }) === wanted);
    Picky.broken = true;
    await running.call(contract.happen, caller, { number: 4 });
    await waitFor(async () => (await list()).length === 1 && seen(4).length === 1);
    Picky.broken = false;

    await running.call(contract.deadLetters.replay, caller, {});
    await waitFor(() => Picky.handled.includes(4));
    const id = Picky.lastId;
    await running.call(contract.happen, caller, { number: 14 });

    await waitFor(() => seen(14).length === 1);
    expect(seen(4).map((event) => event.id)).toEqual([id]);
  });

  it('returns 404 for the replay of a dead letter that does not exist', async () => {
    await expect(running.call(contract.deadLetters.replay, caller, { id: 'dead_none' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
    await expect(running.call(contract.deadLetters.replay, caller, {})).resolves.toEqual({ replayed: 0 });
  });
});

describe('A dead letter', () => {
  let database: OutboxDatabase;
  let letters: DeadLettersRepository;

  beforeAll(async () => {
    database = await createOutboxDatabase();
    letters = new DeadLettersRepository(database.service);
  });

  afterAll(() => database.drop());

  it('stores a dead letter once however often its event is given up', async () => {
    const event = { id: 'event-1', subject: happened.subject, data: { number: 1 } };

    await letters.insertDeadLetter('first', event, 10, 'one reason');
    await letters.insertDeadLetter('first', event, 11, 'another reason');
    await letters.insertDeadLetter('second', event, 10, 'one reason');

    const kept = await letters.listNewest(10);
    expect(kept.map(({ consumer, attempts, reason }) => [consumer, attempts, reason])).toEqual([
      ['second', 10, 'one reason'],
      ['first', 11, 'another reason'],
    ]);
  });

  it.each([
    ['NUL', 'bad \u0000 text'],
    ['half a character', 'bad \ud83d'],
    ['nothing', undefined],
    ['a key with NUL', { 'a\u0000': ['\u0000'] }],
  ])('stores a dead letter whose data contain %s, which Postgres rejects', async (what, data) => {
    const event = { id: `garbage ${what}`, subject: happened.subject, data };

    await letters.insertDeadLetter('first', event, 1, `a reason with \u0000 and ${'x'.repeat(5000)}`);

    const [kept] = (await letters.listNewest(100)).filter(({ reason }) => reason.startsWith('a reason'));
    expect(kept!.reason).toHaveLength(2000);
  });
});
