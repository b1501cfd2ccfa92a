import { newId, newUlid } from '@parley/persistence/ids';
import type { Pool } from 'pg';
import { type BareOperations, type DeliveryRecording, openPool, type Step, toQuery, toStep } from './bare-sql';

interface WorkRow {
  key: string;
  queue: string;
  lease: string | null;
  payload: { eventId: string; data: { events: { id?: string; eventId?: string }[] } };
}

interface Delivery {
  /** Own id for each recorded one. */
  ids: Map<string, string>;
  call: () => Promise<number>;
}

/** More than there are conversations. */
const places = 1_000;
const uniqueViolation = '23505';

/**
 * Delivers events by the recorded SQL of the product's queue, in one process: from the outbox of chat to the queue of
 * deliveries, to the bot, and by the outbox of the runtime back to the event.
 */
export class BareQueue {
  private readonly underWay = new Map<string, Delivery>();
  private readonly pools = new Map<string, Pool>();
  private readonly steps: Map<string, { step: Step; pool: Pool }>;
  private readonly ids: DeliveryRecording['ids'];

  /** Call it after the commit that wrote an event and its row of the outbox. */
  readonly announce = coalesced(() => this.moveAnnounced());
  private readonly claim = coalesced(() => this.claimDeliveries());
  private readonly report = coalesced(() => this.moveSettled());

  constructor(options: BareOperations, { statements, ids }: DeliveryRecording) {
    this.ids = ids;
    this.steps = new Map(
      Object.entries(statements).map(([name, statement]) => {
        const { schema } = statement;
        const pool = this.pools.get(schema) ?? openPool(options, schema);
        this.pools.set(schema, pool);
        return [name, { step: toStep(statement, Object.values(ids)), pool }];
      }),
    );
  }

  /** How to deliver an event that is being written. */
  expect(own: Record<'conversationId' | 'eventId' | 'messageId', string>, call: () => Promise<number>): void {
    const ids = new Map(Object.entries(own).map(([name, id]) => [this.ids[name as keyof typeof own], id]));
    this.underWay.set(own.eventId, { ids, call });
  }

  private async moveAnnounced(): Promise<void> {
    for (const row of await this.move('move_events_chat')) void this.add(row);
  }

  private async add(row: WorkRow): Promise<void> {
    const { ids } = this.underWay.get(row.payload.data.events[0]!.id!)!;
    await this.run('insert_ordered_works', ids);
    this.claim();
    await this.finish(row, 'finish_moved');
  }

  private async claimDeliveries(): Promise<void> {
    const lease = newUlid();
    const rows = await this.run<WorkRow>('claim_ordered_work', new Map(), { 2: lease }).catch((error: unknown) => {
      if ((error as { code?: string }).code !== uniqueViolation) throw error;
      this.claim();
      return [];
    });
    for (const row of rows) void this.work({ ...row, lease });
  }

  private async work(row: WorkRow): Promise<void> {
    const { eventId } = row.payload;
    const { ids, call } = this.underWay.get(eventId)!;
    const found = this.run('findPendingEvent', ids).then(() => this.run('findPartsOfEvent_conversation_id', ids));
    await Promise.all([found, this.run('find_settled', ids)]);
    const status = await call();
    if (status !== 200) throw new Error(`The bot answered ${status}.`);
    await this.run('insert_settlements', new Map([...ids, [this.ids.outboxId, newId('outbox')]]));
    this.report();
    await this.finish(row, 'finish_delivery');
    const next = await this.run('promote_next_work', ids);
    if (next.length > 0) this.claim();
    this.underWay.delete(eventId);
  }

  private async moveSettled(): Promise<void> {
    for (const row of await this.move('move_events_runtime')) void this.settle(row);
  }

  private async settle(row: WorkRow): Promise<void> {
    const { eventId } = row.payload.data.events[0]!;
    await this.run('settleWithoutEffects', new Map([[this.ids.eventId, eventId!]]));
    await this.finish(row, 'finish_moved');
  }

  private move(name: string): Promise<WorkRow[]> {
    const consumers = this.steps.get(name)!.step.fills[1]!(new Map())!;
    const values = { 1: consumers.replaceAll(/"places":[1-9]\d*/g, `"places":${places}`), 2: newUlid() };
    return this.run<WorkRow>(name, new Map(), values).then((rows) => rows.filter(({ lease }) => lease));
  }

  private async finish({ queue, key, lease }: WorkRow, name: string): Promise<void> {
    await this.run(name, new Map(), { 0: queue, 1: key, 2: lease! });
  }

  private async run<Row extends object>(
    name: string,
    ids: Map<string, string>,
    values: Record<number, string> = {},
  ): Promise<Row[]> {
    const { step, pool } = this.steps.get(name)!;
    const query = toQuery(step, ids);
    const all = 'values' in query ? query.values.map((value, index) => values[index] ?? value) : [];
    return (await pool.query<Row>({ ...query, values: all })).rows;
  }
}

/** Calls that come while the work runs cause one further run. An error ends the process. */
function coalesced(work: () => Promise<void>): () => void {
  let isRunning = false;
  let isAsked = false;
  const runAll = async () => {
    isRunning = true;
    while (isAsked) {
      isAsked = false;
      await work();
    }
    isRunning = false;
  };
  return () => {
    isAsked = true;
    if (!isRunning) void runAll();
  };
}
