import { Injectable } from '@nestjs/common';
import { notFound, unavailable } from '@parley/contracts/errors';
import { LRUCache } from 'lru-cache';
import { type TableRow, type TableWithColumns, withColumns } from './table.entity';
import { RowValidator } from './row-validator';
import { TablesRepository } from './tables.repository';

/** A table with what follows from its schema. */
export interface KnownTable extends TableWithColumns {
  /** Compiled when the first row comes. */
  readonly validator: RowValidator;
}

const maxTables = 1000;

/** How often a table may change while rows are on their way into it. */
const maxTries = 20;

/** Remembers tables, so that a row costs no look at its table. */
@Injectable()
export class TableCatalog {
  private readonly known = new LRUCache<string, KnownTable>({ max: maxTables });

  constructor(private readonly tables: TablesRepository) {}

  /**
   * The table by name or id as this process last saw it: for writes that hold under its number and version alone. Who
   * finds that they no longer hold forgets it and asks again. Throws ResourceNotFound.
   */
  async remembered(botId: string, nameOrId: string): Promise<KnownTable> {
    return this.known.get(place(botId, nameOrId)) ?? this.fetch(botId, nameOrId);
  }

  /** The table as it is now. Throws ResourceNotFound. */
  async current(botId: string, nameOrId: string): Promise<KnownTable> {
    const known = this.known.get(place(botId, nameOrId));
    if (known && (await this.tables.isCurrent(known, nameOrId))) return known;
    return this.fetch(botId, nameOrId);
  }

  /** The table whose rows have this number, as it is now. */
  async ofNumber(number: string): Promise<KnownTable | undefined> {
    const row = await this.tables.findByNumber(number);
    if (!row) return undefined;
    const known = this.known.get(place(row.bot_id, row.id));
    return known?.number === row.number && known.version === row.version ? known : this.know(row, row.id);
  }

  /**
   * What `read` answers or throws for the table as it is: it is taken for what this process last saw, which is looked at
   * afterwards. When it has changed meanwhile, `read` has another try. Throws ResourceNotFound.
   */
  async read<T>(botId: string, nameOrId: string, read: (table: KnownTable) => Promise<T>): Promise<T> {
    for (let tries = 0; tries < maxTries; tries++) {
      const table = await this.remembered(botId, nameOrId);
      // Also when it fails: what a former schema lacks, the table may have by now.
      const [outcome] = await Promise.allSettled([read(table)]);
      if (await this.tables.isCurrent(table, nameOrId)) {
        if (outcome.status === 'rejected') throw outcome.reason;
        return outcome.value;
      }
      this.forget(table);
    }
    throw unavailable('The table is being changed just now. Try again in a moment.');
  }

  /**
   * What `write` answers for the remembered table. It answers undefined, having written nothing, when the table is no
   * longer what it is taken for; then it has another try with the table as it is. Throws ResourceNotFound.
   */
  async write<T>(botId: string, nameOrId: string, write: (table: KnownTable) => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < maxTries; tries++) {
      const table = await this.remembered(botId, nameOrId);
      const written = await write(table);
      if (written !== undefined) return written;
      this.forget(table);
    }
    throw unavailable('The table is being changed just now. Try again in a moment.');
  }

  forget({ bot_id, id, name }: Pick<TableRow, 'bot_id' | 'id' | 'name'>): void {
    this.known.delete(place(bot_id, id));
    this.known.delete(place(bot_id, name));
  }

  private async fetch(botId: string, nameOrId: string): Promise<KnownTable> {
    const row = await this.tables.find(botId, nameOrId);
    if (!row) throw notFound('table', nameOrId);
    return this.know(row, nameOrId);
  }

  private know(row: TableRow, nameOrId: string): KnownTable {
    let validator: RowValidator | undefined;
    const table: KnownTable = {
      ...withColumns(row),
      get validator() {
        return (validator ??= new RowValidator(row));
      },
    };
    this.known.set(place(row.bot_id, nameOrId), table);
    return table;
  }
}

function place(botId: string, nameOrId: string): string {
  return `${botId}/${nameOrId}`;
}
