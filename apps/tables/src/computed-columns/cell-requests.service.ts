import { Injectable } from '@nestjs/common';
import {
  type ComputationRequested,
  computationRequested,
  type RowToCompute,
  workflowRequested,
} from '@parley/contracts/tables/computations';
import type { ComputedAction } from '@parley/contracts/tables/table-schema';
import { Outbox } from '@parley/events/outbox';
import { Database, type Transaction } from '@parley/persistence/database';
import type { Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { WhenDue } from '@parley/work-queue/worker';
import { BotsRepository } from '../bots/bots.repository';
import type { TableColumn } from '../schema/columns';
import { toRow } from '../tables/row.entity';
import type { CachedTable } from '../tables/table.cache';
import { computeRows } from '../tables/table-queues';
import { actionOf, RemoteColumns, workflowOf } from './remote-columns';
import type { RequestedCellEntity } from './requested-cell.entity';
import { expiredCells, RequestedCellsRepository } from './requested-cells.repository';
import { type ListedStaleRow, StaleRowsRepository } from './stale-rows.repository';

/** Requested cells of a table and action, so that a table with a million rows does not flood its bot. */
const maxRequested = 200;
const maxRowsTogether = 50;
/** An event has at most 256 kB, of which the schema takes some. A larger row is alone in its event. */
const maxCharactersTogether = 60_000;
/** Characters of all events that one turn of the table adds. */
const maxCharactersAtOnce = 1_000_000;
/** Longer than a bot or a workflow may take: by default, workflows time out after a day. */
const expiryMinutes = { code: 60, workflow: 25 * 60 };
const expiryCheckMs = 60_000;
const cellsAtOnce = 1_000;

interface Requested {
  row: ListedStaleRow;
  columns: TableColumn[];
  version: string;
}

/** Requests cells from bots and workflows. Each request is an event, and its answer another one. */
@Injectable()
export class CellRequestsService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly cells: RequestedCellsRepository,
    private readonly rows: StaleRowsRepository,
    private readonly outbox: Outbox,
    private readonly queue: WorkQueue,
  ) {}

  async remoteColumns(table: CachedTable): Promise<RemoteColumns> {
    const actions = [...table.columns.values()].map(({ schema }) => schema['x-zui'].computed?.action);
    return new RemoteColumns(table, actions.includes('code') && (await this.bots.computesRows(table.bot_id)));
  }

  /** Stale rows that are not held up, and the actions of which no further cell is requested for now. */
  async listStale(
    table: CachedTable,
    remote: RemoteColumns,
    limit: number,
  ): Promise<{ rows: ListedStaleRow[]; full: ComputedAction[] }> {
    if (remote.all.length === 0) {
      const rows = await this.rows.listStale(table.number, limit);
      return { rows: rows.map((row) => ({ ...row, requested: [] })), full: [] };
    }
    const full = await this.cells.listFull(table.number, maxRequested);
    const held = remote.withDependents(full);
    return {
      rows: await this.rows.listStaleBesideRequested(table.number, limit, held, remote.dependents()),
      full,
    };
  }

  /** Requests the remote columns of these rows that wait for no other column. False if there are none. */
  async request(
    table: CachedTable,
    remote: RemoteColumns,
    { rows, full }: { rows: ListedStaleRow[]; full: ComputedAction[] },
    work: Work,
  ): Promise<boolean> {
    const found = rows.flatMap((row) =>
      remote.requestable(row).flatMap((columns) => {
        const version = full.includes(actionOf(columns[0]!)) ? undefined : remote.versionOf(columns, row);
        return version === undefined ? [] : [{ row, columns, version }];
      }),
    );
    const requests = withinLimits(found);
    if (requests.length === 0) return false;
    await this.database.transaction(async (tx) => {
      await work.confirm(tx);
      await this.insert(tx, table, requests);
    });
    return true;
  }

  /** Requests cells again whose answer is lost. Safe to run in several processes. */
  @WhenDue({ name: 'tables.expiredRequests', rows: expiredCells, everyMs: expiryCheckMs })
  requestAgain(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const tables = await this.cells.deleteExpired(tx, cellsAtOnce);
      await this.queue.add(
        tx,
        computeRows,
        tables.map(({ number, botId }) => ({ key: number, tenant: botId, payload: null })),
      );
      return tables.length > 0;
    });
  }

  private async insert(tx: Transaction, table: CachedTable, requests: Requested[]): Promise<void> {
    const ofAction = (action: ComputedAction) => requests.filter(({ columns }) => actionOf(columns[0]!) === action);
    const [code, workflows] = [ofAction('code'), ofAction('workflow')];
    await this.cells.insertCells(tx, cellsOf(table, code), expiryMinutes.code);
    await this.cells.insertCells(tx, cellsOf(table, workflows), expiryMinutes.workflow);
    const { bot_id: botId, id: tableId } = table;
    await this.outbox.addAll(
      tx,
      computationRequested,
      inEvents(code.map((request) => toRowToCompute(table, request))).map((rows): ComputationRequested => ({
        botId,
        tableId,
        schema: schemaOf(table),
        rows,
      })),
    );
    await this.outbox.addAll(
      tx,
      workflowRequested,
      workflows.map(({ row, columns: [column], version }) => ({
        ...{ botId, tableId, rowId: row.id, column: column!.name, version },
        ...{ workflow: workflowOf(column!), row: toRow(table.columns.values(), row) },
      })),
    );
  }
}

function withinLimits(requests: Requested[]): Requested[] {
  const cells: Partial<Record<ComputedAction, number>> = {};
  let characters = 0;
  return requests.filter(({ row, columns }) => {
    const action = actionOf(columns[0]!);
    cells[action] = (cells[action] ?? 0) + columns.length;
    const fits = cells[action] <= maxRequested && characters <= maxCharactersAtOnce;
    characters += JSON.stringify(row.data).length;
    return fits;
  });
}

function cellsOf({ number, bot_id }: CachedTable, requests: Requested[]): Omit<RequestedCellEntity, 'expires_at'>[] {
  return requests.flatMap(({ row, columns, version }) =>
    columns.map((column) => ({
      ...{ table_number: number, row_id: row.id, column_key: column.key },
      ...{ bot_id, action: actionOf(column), version },
    })),
  );
}

function toRowToCompute({ columns: all }: CachedTable, { row, columns, version }: Requested): RowToCompute {
  return { row: toRow(all.values(), row), columns: columns.map(({ name }) => name), version };
}

function inEvents(rows: RowToCompute[]): RowToCompute[][] {
  const events: RowToCompute[][] = [];
  let characters = Infinity;
  for (const row of rows) {
    const { length } = JSON.stringify(row);
    if (characters + length > maxCharactersTogether || events.at(-1)!.length >= maxRowsTogether) {
      events.push([]);
      characters = 0;
    }
    events.at(-1)!.push(row);
    characters += length;
  }
  return events;
}

/** Types and dependencies alone: the whole schema may have 128 kB. */
function schemaOf({ columns }: CachedTable): Record<string, unknown> {
  const properties = [...columns.values()].map(({ name, schema }) => {
    const { index, computed } = schema['x-zui'];
    const { action, dependencies } = computed ?? {};
    const zui = { index, ...(computed ? { computed: { action, dependencies } } : {}) };
    return [name, { type: schema.type, format: schema.format, nullable: schema.nullable, 'x-zui': zui }];
  });
  return { type: 'object', properties: Object.fromEntries(properties) as object };
}
