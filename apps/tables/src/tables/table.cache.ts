import { Injectable } from '@nestjs/common';
import { notFound, unavailable } from '@parley/contracts/errors';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { RowValidator } from '../schema/row-validator';
import { RowWriter } from './row-writer';
import { type TableRow, type TableWithColumns, withColumns } from './table.entity';
import { TablesRepository } from './tables.repository';

export interface CachedTable extends TableWithColumns {
  readonly validator: RowValidator;
  readonly writer: RowWriter;
}

const maxTables = 1000;

const maxTries = 20;

/** Cache of tables, so that operations on rows need no query for the table. */
@Injectable()
export class TableCache {
  private readonly cached = new LRUCache<string, CachedTable>(atMostEntries(maxTables));

  constructor(private readonly tables: TablesRepository) {}

  /**
   * Cached table, possibly outdated: for writes that check its number and version. A caller whose check fails calls
   * `forget` and retries. Throws ResourceNotFound.
   */
  async cachedTable(botId: string, nameOrId: string): Promise<CachedTable> {
    return this.cached.get(keyOf(botId, nameOrId)) ?? this.fetch(botId, nameOrId);
  }

  /** Current table. Throws ResourceNotFound. */
  async current(botId: string, nameOrId: string): Promise<CachedTable> {
    const cached = this.cached.get(keyOf(botId, nameOrId));
    if (cached && (await this.tables.isCurrent(cached))) return cached;
    return this.fetch(botId, nameOrId);
  }

  async ofNumber(number: string): Promise<CachedTable | undefined> {
    const row = await this.tables.findByNumber(number);
    if (!row) return undefined;
    const cached = this.cached.get(keyOf(row.bot_id, row.id));
    return cached?.number === row.number && cached.version === row.version ? cached : this.remember(row, row.id);
  }

  /**
   * Optimistic read: runs `read` with the cached table and checks afterwards that the table is current. Retries when it
   * has changed. Throws ResourceNotFound.
   * @param read calls `prove` when its own statement found the table current (`tableIsCurrent`), which saves the check
   */
  async read<T>(
    botId: string,
    nameOrId: string,
    read: (table: CachedTable, prove: () => void) => Promise<T>,
  ): Promise<T> {
    for (let tries = 0; tries < maxTries; tries++) {
      const table = await this.cachedTable(botId, nameOrId);
      let isProven = false;
      // A failure counts only if the table is current: the new schema may have the missing column.
      const [outcome] = await Promise.allSettled([read(table, () => (isProven = true))]);
      if (isProven || (await this.tables.isCurrent(table))) {
        if (outcome.status === 'rejected') throw outcome.reason;
        return outcome.value;
      }
      this.forget(table);
    }
    throw unavailable('The table is being changed by other requests. Try again in a moment.');
  }

  /**
   * Optimistic write: runs `write` with the cached table. It returns undefined, without having written, when the table
   * has changed, and is then retried with the current one. Throws ResourceNotFound.
   */
  async write<T>(botId: string, nameOrId: string, write: (table: CachedTable) => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < maxTries; tries++) {
      const table = await this.cachedTable(botId, nameOrId);
      const written = await write(table);
      if (written !== undefined) return written;
      this.forget(table);
    }
    throw unavailable('The table is being changed by other requests. Try again in a moment.');
  }

  forget({ bot_id, id, name }: Pick<TableRow, 'bot_id' | 'id' | 'name'>): void {
    this.cached.delete(keyOf(bot_id, id));
    this.cached.delete(keyOf(bot_id, name));
  }

  private async fetch(botId: string, nameOrId: string): Promise<CachedTable> {
    const row = await this.tables.findByNameOrId(botId, nameOrId);
    if (!row) throw notFound('table', nameOrId);
    return this.remember(row, nameOrId);
  }

  private remember(row: TableRow, nameOrId: string): CachedTable {
    const whole = withColumns(row);
    let validator: RowValidator | undefined;
    let writer: RowWriter | undefined;
    const table: CachedTable = {
      ...whole,
      get validator() {
        return (validator ??= new RowValidator(row));
      },
      get writer() {
        return (writer ??= new RowWriter(whole.columns.values()));
      },
    };
    this.cached.set(keyOf(row.bot_id, nameOrId), table);
    return table;
  }
}

function keyOf(botId: string, nameOrId: string): string {
  return `${botId}/${nameOrId}`;
}
