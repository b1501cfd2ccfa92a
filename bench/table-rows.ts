import { Database } from '@parley/persistence/database';
import { RowsRepository } from '../apps/tables/src/rows/rows.repository';
import { TableCache } from '../apps/tables/src/tables/table.cache';
import { TablesRepository } from '../apps/tables/src/tables/tables.repository';

/** Ten columns: strings (three of them unique), numbers, booleans, dates. */
export const columns = {
  key: { type: 'string' },
  name: { type: 'string' },
  note: { type: 'string' },
  city: { type: 'string' },
  price: { type: 'number' },
  quantity: { type: 'number' },
  isActive: { type: 'boolean' },
  isOpen: { type: 'boolean' },
  createdOn: { type: 'string', format: 'date-time' },
  seenOn: { type: 'string', format: 'date-time' },
};

export const rowsInBlock = 1000;
/** First block number that no filled table contains. */
export const firstNewBlock = 1_000_000;
const cities = 100;

/** Fixed-length names, so that names can be replaced in requests and recorded SQL. */
export function blockName(number: number): string {
  return `block-${String(number).padStart(7, '0')}`;
}

export function cityName(number: number): string {
  return `city-${String(number % cities).padStart(3, '0')}`;
}

/** First rows of a block. Blocks differ only by name. */
export function rowsOf(block: string, count = rowsInBlock) {
  return Array.from({ length: count }, (_, i) => ({
    key: `${block}/${i}`,
    name: `Customer ${block} number ${i}`,
    note: `Note: ${block} has written about number ${i} in a few words`,
    city: cityName(i * 7),
    price: ((i * 7919) % 1009) / 4,
    quantity: i % 50,
    isActive: i % 2 === 0,
    isOpen: i % 10 === 0,
    createdOn: new Date(Date.UTC(2024, 0, 1) + i * 3_600_000).toISOString(),
    seenOn: new Date(Date.UTC(2025, 0, 1) + (i % 100) * 60_000).toISOString(),
  }));
}

/** Fills an empty table with whole blocks from number 0, by the product's own insert statement. */
export async function fillTable(databaseUrl: string, botId: string, name: string, rowCount: number): Promise<void> {
  const concurrency = 4;
  const database = await Database.open({ url: databaseUrl, schema: 'tables', migrations: [], poolSize: concurrency });
  try {
    const table = await new TableCache(new TablesRepository(database)).current(botId, name);
    const keyed = (row: object) => ({
      json: JSON.stringify(
        Object.fromEntries(Object.entries(row).map(([column, value]) => [table.columns.get(column)!.key, value])),
      ),
    });
    const rows = new RowsRepository();
    const blocks = Array.from({ length: rowCount / rowsInBlock }, (_, number) => blockName(number)).values();
    const worker = async () => {
      for (const block of blocks) await rows.insertRows(database, table, rowsOf(block).map(keyed));
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    await database.query('VACUUM ANALYZE row');
  } finally {
    await database.close();
  }
}
