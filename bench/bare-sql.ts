import { newId } from '@parley/persistence/ids';
import { Pool } from 'pg';
import type { Statement } from './postgres-tap';

/** Recorded SQL and answer of one request to the product. */
export interface Recording {
  units: Statement[][];
  /** Request value in the statements, such as a file id, that is replaced in each run. */
  given: string;
  /** Answer of the product; the baseline's has the same shape and size. */
  answer: { file?: Record<string, unknown> };
}

export interface BareOptions<Operation extends string = 'read' | 'write'> {
  databaseUrl: string;
  poolSize: number;
  recordings: Record<Operation, Recording>;
}

export interface BareOperations extends BareOptions<string> {
  schema: string;
  /** Bot that the baselines of `bots` and `code` call: a server, or the path of a bundle. */
  bot?: { id: string } & ({ url: string } | { bundle: string });
  /** Prepared statements of a delivery, by name, and the ids in them. Without it, events are delivered without a queue. */
  delivery?: DeliveryRecording;
}

export interface DeliveryRecording {
  statements: Record<string, Statement>;
  ids: Record<'conversationId' | 'eventId' | 'messageId' | 'outboxId', string>;
}

type ParameterValue = (ids: Map<string, string>) => string | null;
export interface Step {
  query: { name?: string; text: string };
  fills: ParameterValue[];
}

const madeId = /\b(file|upload|msg|evt|outbox)_[0-9A-Z]{26}\b/g;

/** Replays the recorded statements of one request in the same transactions with other ids. */
export class BareSql {
  private readonly units: Step[][];
  private readonly ids: string[];

  constructor(
    private readonly pool: Pool,
    private readonly recording: Recording,
  ) {
    const { units, given } = recording;
    const texts = units.flat().flatMap(({ values }) => values.map((value) => value ?? ''));
    this.ids = [...new Set(texts.flatMap((text) => text.match(madeId) ?? []))].filter((id) => id !== given);
    this.units = units.map((unit) => unit.map((statement) => toStep(statement, [given, ...this.ids])));
  }

  /** @param ids receives the new id for each recorded one */
  async run(given: string, ids = new Map<string, string>()): Promise<object> {
    ids.set(this.recording.given, given);
    // Like the product, each request generates the ids of its rows.
    for (const id of this.ids) ids.set(id, newId(id.slice(0, id.indexOf('_'))));
    let row: { id?: string } | undefined;
    for (const unit of this.units) {
      const found = await this.runUnit(unit, ids);
      row ??= found;
    }
    const { answer } = this.recording;
    return answer.file ? { file: { ...answer.file, id: row?.id } } : answer;
  }

  private async runUnit(unit: Step[], ids: Map<string, string>): Promise<{ id?: string } | undefined> {
    const [only] = unit;
    if (unit.length === 1 && only) return (await this.pool.query<{ id?: string }>(toQuery(only, ids))).rows[0];
    const client = await this.pool.connect();
    let found: { id?: string } | undefined;
    try {
      for (const step of unit) {
        // A text with several statements, as with BEGIN, has several results.
        const { rows = [] } = await client.query<{ id?: string }>(toQuery(step, ids));
        found ??= rows[0];
      }
      client.release();
      return found;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }
}

export function openPool(
  { databaseUrl, poolSize }: Pick<BareOptions, 'databaseUrl' | 'poolSize'>,
  schema = 'files',
): Pool {
  return new Pool({ connectionString: databaseUrl, max: poolSize, options: `-c search_path=${schema},public` });
}

export function toStep({ name, text, values }: Statement, ids: string[]): Step {
  return { query: { ...(name ? { name } : {}), text }, fills: values.map((value) => toFill(value, ids)) };
}

function toFill(value: string | null, ids: string[]): ParameterValue {
  if (value === null) return () => null;
  const [id, ...others] = ids.filter((candidate) => value.includes(candidate));
  if (id === undefined) return () => value;
  if (id === value) return (fresh) => fresh.get(id) ?? null;
  return (fresh) => [id, ...others].reduce((text, old) => text.replaceAll(old, fresh.get(old) ?? old), value);
}

export function toQuery({ query, fills }: Step, ids: Map<string, string>) {
  return fills.length > 0 ? { ...query, values: fills.map((fill) => fill(ids)) } : query;
}
