import { Controller, type DynamicModule, Injectable, Module } from '@nestjs/common';
import { service as serviceAccess } from '@parley/contracts/access';
import { systemCaller } from '@parley/contracts/caller';
import { consumer, event, operation } from '@parley/contracts/operation';
import { Empty } from '@parley/contracts/paging';
import { workAdded, workOperations } from '@parley/contracts/work';
import { eventEntities } from '@parley/events/event-entities';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { Migration } from '@parley/persistence/service-schema';
import { ServiceConfig } from '@parley/service/config';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { plainSchema } from '@parley/testing/plain-schema';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { Consumes, Handles } from '@parley/transport/handles';
import type { QueryRunner } from 'typeorm';
import { BackgroundTasks } from './background-tasks.service';
import { GiveUp, queue, type Work } from './queue';
import { workSchema } from './test/work-database';
import { workController } from './work.controller';
import { WorkEntity } from './work.entity';
import { WorkQueue } from './work-queue.service';
import { Every, OnFailed, type Round, WhenDue, Worker } from './worker';

const letters = queue<{ text: string }>('probe.letters');
const recorded = queue('probe.recorded');
const sent = event({ subject: 'probe.sent', data: Empty });
const noteSent = consumer({ name: 'probe.noteSent', event: sent });
const reminders = 'probe.reminders';
const contract = {
  send: operation({
    subject: 'probe.send',
    summary: 'Adds work.',
    access: serviceAccess,
    input: Empty,
    output: Empty,
  }),
  announce: operation({
    subject: 'probe.announce',
    summary: 'Adds an event.',
    access: serviceAccess,
    input: Empty,
    output: Empty,
  }),
  work: workOperations('probe'),
};
const caller = systemCaller('test');

@Injectable()
class LettersService {
  static isBroken = false;
  static sent: string[] = [];
  static failed: string[] = [];
  static rounds = 0;
  static begun: string[] = [];
  static reminded: string[] = [];
  static forgotten = 0;
  static canRemind = true;
  /** A round runs, or follows one that found rows. */
  static isReminding = false;
  static canNote = false;

  constructor(private readonly database: Database) {}

  @Worker(letters, { concurrency: 2 })
  async send({ payload: { text } }: Work<{ text: string }>): Promise<void> {
    if (LettersService.isBroken) throw new GiveUp('The mailbox is full.');
    LettersService.sent.push(text);
  }

  @Worker(recorded, { concurrency: 1 })
  give(): Promise<void> {
    return Promise.reject(new GiveUp('never'));
  }

  @OnFailed(recorded)
  async record({ key }: { key: string }, reason: string): Promise<void> {
    LettersService.failed.push(`${key}: ${reason}`);
  }

  @Every<LettersService>({ name: 'probe.round', everyMs: () => 3_600_000 })
  async look({ againIn }: Round): Promise<boolean> {
    LettersService.rounds += 1;
    if (LettersService.rounds === 3) againIn(20);
    return LettersService.rounds < 3;
  }

  @Every({ name: 'probe.slow', everyMs: 3_600_000 })
  async begin(): Promise<void> {
    LettersService.begun.push('slow begins');
    await this.database.query('SELECT 1');
    LettersService.begun.push('slow ends');
  }

  @Every({ name: 'probe.next', everyMs: 3_600_000 })
  async beginNext(): Promise<void> {
    LettersService.begun.push('next begins');
    await this.database.query('SELECT 1');
  }

  @WhenDue({ name: reminders, rows: { table: 'reminder' }, everyMs: 3_600_000 })
  async remind(): Promise<boolean> {
    if (!LettersService.canRemind) throw new Error('no reminders today');
    LettersService.isReminding = true;
    const rows = await this.database.query<{ id: string }>('DELETE FROM reminder WHERE due_at <= now() RETURNING id');
    LettersService.reminded.push(...rows.map(({ id }) => id));
    LettersService.isReminding = rows.length > 0;
    return LettersService.isReminding;
  }

  @WhenDue({
    name: 'probe.forget',
    rows: { condition: "EXISTS (SELECT FROM reminder WHERE id = 'wrong')" },
    everyMs: 3_600_000,
  })
  async forget(): Promise<void> {
    LettersService.forgotten += 1;
    await this.database.query("DELETE FROM reminder WHERE id = 'wrong'");
  }
}

@Controller()
class ProbeController {
  constructor(
    private readonly database: Database,
    private readonly work: WorkQueue,
    private readonly outbox: Outbox,
  ) {}

  @Handles(contract.send)
  async send(): Promise<Empty> {
    await this.database.transaction(async (tx) => {
      await this.work.add(tx, letters, [{ key: 'a', tenant: 'alice', payload: { text: 'hello' } }]);
      await this.work.add(tx, recorded, [{ key: 'b', tenant: 'alice', payload: null }]);
    });
    return {};
  }

  @Handles(contract.announce)
  async announce(): Promise<Empty> {
    await this.database.transaction((tx) => this.outbox.add(tx, sent, {}));
    return {};
  }

  @Consumes(noteSent)
  note(): Promise<void> {
    return LettersService.canNote ? Promise.resolve() : Promise.reject(new Error('no pen'));
  }
}

class Reminders1796000000001 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE reminder (bot_id text, id text, due_at timestamptz)');
  }
}

@Module({})
class ProbeModule {
  static register(config: ServiceConfig, platform: Platform): DynamicModule {
    const plain = plainSchema('probe');
    const database = {
      schema: 'probe',
      migrations: [...plain.migrations, ...workSchema.migrations, Reminders1796000000001],
      entities: [...eventEntities, IdempotencyKeyEntity, WorkEntity],
      config,
    };
    const options = { name: 'probe', contract, consumers: [noteSent], workAdded: workAdded('probe'), database };
    return {
      module: ProbeModule,
      imports: [ServiceModule.register(options, platform)],
      controllers: [ProbeController, workController(contract.work)],
      providers: [LettersService],
    };
  }
}

describe('Background work of an app', () => {
  let running: RunningService;
  let metrics: Platform['metrics'];

  beforeAll(async () => {
    running = await startService((databaseUrl, platform) => {
      ({ metrics } = platform);
      return ProbeModule.register(Object.assign(new ServiceConfig(), { databaseUrl }), platform);
    });
  });

  afterAll(() => running.stop());

  const list = async () => (await running.call(contract.work.list, caller, {})).work;

  it('runs workers and failure handlers that are declared by decorators', async () => {
    await running.call(contract.send, caller, {});
    await waitFor(async () => (await list()).length === 0);

    expect(LettersService.sent).toEqual(['hello']);
    expect(LettersService.failed).toEqual(['b: never']);
  });

  it('begins periodic tasks one after the other, so that a start opens few connections', async () => {
    await waitFor(
      () => LettersService.begun,
      (begun) => begun.includes('next begins'),
    );

    expect(LettersService.begun).toEqual(['slow begins', 'slow ends', 'next begins']);
  });

  it('repeats a periodic task as long as it has more to do, when it asks for it, and when it is woken', async () => {
    await waitFor(() => LettersService.rounds === 4);

    running.apps[0]!.get(BackgroundTasks, { strict: false }).wake('probe.round');

    await waitFor(() => LettersService.rounds === 5);
  });

  describe('of rows that become due', () => {
    const remindOf = (id: string, dueIn: string) =>
      running.apps[0]!.get(Database, { strict: false }).query(
        'INSERT INTO reminder VALUES ($1, $2, now() + $3::interval)',
        ['alice', id, dueIn],
      );
    const wake = () => running.apps[0]!.get(BackgroundTasks, { strict: false }).wake(reminders);

    afterEach(async () => {
      LettersService.canRemind = true;
      wake();
      await waitFor(async () => (await list()).length === 0);
      // Else its last round could delete the rows of the next test.
      await waitFor(() => !LettersService.isReminding);
    });

    it('runs work on due rows when it is woken, and when the next row becomes due', async () => {
      await remindOf('now', '0 s');
      await remindOf('soon', '300 ms');

      wake();

      await waitFor(() => LettersService.reminded.length === 2);
      expect(LettersService.reminded).toEqual(['now', 'soon']);
    });

    it('runs work on due rows while a condition holds', async () => {
      await remindOf('wrong', '1 hour');

      wake();
      await waitFor(() => LettersService.forgotten === 1);
      wake();
      await remindOf('now', '0 s');
      wake();

      await waitFor(() => LettersService.reminded.includes('now'));
      expect(LettersService.forgotten).toBe(1);
    });

    it('shows late rows to an operator, who can only list them, and in metrics', async () => {
      LettersService.canRemind = false;
      await remindOf('late', '-1 hour');
      wake();

      const { work } = await running.call(contract.work.list, caller, { queue: reminders });
      const shown = await running.call(contract.work.list, caller, { queue: reminders, key: 'late', state: 'ready' });
      const text = (await metrics.text()).toString();

      expect(work).toMatchObject([{ queue: reminders, key: 'late', tenant: 'alice', state: 'ready', isDueRow: true }]);
      expect(shown.work).toEqual(work);
      expect(text).toContain(`parley_work_waiting{service="probe",queue="${reminders}"} 1`);
      expect(text).toMatch(/parley_work_oldest_ready_seconds\{service="probe",queue="probe.reminders"\} 36/);
      const named = { queue: reminders, key: 'late' };
      for (const change of [contract.work.retry, contract.work.discard])
        await expect(running.call<object, object>(change, caller, named)).rejects.toMatchObject({
          type: 'InvalidPayload',
        });
    });
  });

  it('shows deliveries of the embedded event stream to an operator, who may retry them', async () => {
    await running.call(contract.announce, caller, {});
    await waitFor(async () => (await list()).some(({ lastError }) => lastError !== null));
    const [delivery] = (await running.call(contract.work.list, caller, { queue: noteSent.name })).work;
    LettersService.canNote = true;

    const retried = await running.call(contract.work.retry, caller, { queue: noteSent.name, key: delivery!.key });

    expect(delivery).toMatchObject({ state: 'waiting', attempts: 1, lastError: 'no pen' });
    expect(retried).toEqual({ retried: 1 });
    await waitFor(async () => (await list()).every(({ queue }) => queue !== noteSent.name));
  });

  it('shows failed work to an operator, who may retry or discard it', async () => {
    LettersService.isBroken = true;
    await running.call(contract.send, caller, {});
    await waitFor(async () => (await list())[0]?.state === 'failed');

    const { work } = await running.call(contract.work.list, caller, { queue: letters.name, state: 'failed' });
    const shown = await running.call(contract.work.list, caller, { queue: letters.name, key: 'a' });
    expect(work).toMatchObject([{ key: 'a', tenant: 'alice', attempts: 1, lastError: 'The mailbox is full.' }]);
    expect(work[0]).not.toHaveProperty('payload');
    expect(JSON.parse(shown.work[0]!.payload!)).toEqual({ text: 'hello' });

    expect(await running.call(contract.work.retry, caller, { queue: letters.name })).toEqual({ retried: 1 });
    await waitFor(async () => (await list())[0]?.state === 'failed');
    const discard = () => running.call(contract.work.discard, caller, { queue: letters.name, key: 'a' });
    expect(await discard()).toEqual({ discarded: 1 });
    expect(await discard()).toEqual({ discarded: 0 });
    const retried = await running.call(contract.work.retry, caller, { queue: letters.name, key: 'a' });
    expect(retried).toEqual({ retried: 0 });
  });

  it('exports the depth of each queue and the ends of attempts', async () => {
    await running.call(contract.send, caller, {});
    await waitFor(async () => (await list()).some(({ state }) => state === 'failed'));

    // A reading is shared for a second.
    const text = await waitFor(
      async () => (await metrics.text()).toString(),
      (read) => read.includes('parley_work_failed{service="probe",queue="probe.letters"} 1'),
    );

    expect(text).toMatch(/parley_work_attempts_total\{service="probe",queue="probe.letters",end="finished"\} 1/);
  });
});
