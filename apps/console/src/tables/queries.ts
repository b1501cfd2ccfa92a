import { queryOptions } from '@tanstack/react-query';
import type { Client, Row, Table } from '@botpress/client';
import { clientOf } from '../api/client';

export interface TableScope {
  botId: string;
  /** Id of the table. */
  table: string;
}

export type RowsInput = Pick<
  Parameters<Client['findTableRows']>[0],
  'filter' | 'search' | 'orderBy' | 'orderDirection'
>;

/** Fields that Parley adds to a job. */
export type ShownJob = Awaited<ReturnType<Client['getTableJobs']>>['jobs'][number] & {
  rows?: number;
  failedRows?: number;
  failedStatusReason?: string;
  errors?: string[];
};

/** Rows of a page of the grid. */
export const pageRows = 100;

const busyMs = 1_000;
/** Rows that were scrolled away leave the memory after this time. */
const unseenMs = 30_000;

export const tablesKey = (botId: string) => [botId, 'tables'];
export const tableKey = ({ botId, table }: TableScope) => [botId, 'table', table];
export const rowsKey = (scope: TableScope) => [...tableKey(scope), 'rows'];

export const tablesQuery = (botId: string) =>
  queryOptions({
    queryKey: tablesKey(botId),
    queryFn: async (): Promise<Table[]> => (await clientOf({ botId }).listTables({})).tables,
  });

export const tableQuery = (scope: TableScope) =>
  queryOptions({
    queryKey: [...tableKey(scope), 'definition'],
    queryFn: () => clientOf(scope).getTable({ table: scope.table }),
    refetchInterval: ({ state: { data } }) => (data && (data.stale > 0 || data.indexing > 0) ? busyMs : false),
  });

/** Number of the rows that match; a search orders the rows and leaves none out. */
export const countQuery = (scope: TableScope, { filter }: RowsInput) =>
  queryOptions({
    queryKey: [...tableKey(scope), 'count', filter],
    queryFn: async () => {
      const answer = await clientOf(scope).findTableRows({ table: scope.table, filter, group: { id: 'count' } });
      return Number(answer.rows[0]?.['idCount'] ?? 0);
    },
  });

export const rowsQuery = (scope: TableScope, input: RowsInput, page: number) =>
  queryOptions({
    queryKey: [...rowsKey(scope), input, page],
    queryFn: () => findPage(scope, input, page * pageRows),
    gcTime: unseenMs,
    refetchInterval: ({ state }) => (state.data?.some(isBeingComputed) ? busyMs : false),
  });

/** Answers of large rows end before their limit. */
async function findPage(scope: TableScope, input: RowsInput, offset: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (let hasMore = true; hasMore && rows.length < pageRows;) {
    const next = { offset: offset + rows.length, limit: pageRows - rows.length };
    const answer = await clientOf(scope).findTableRows({ table: scope.table, ...input, ...next });
    rows.push(...answer.rows);
    hasMore = answer.hasMore && answer.rows.length > 0;
  }
  return rows;
}

function isBeingComputed({ stale, computed }: Row): boolean {
  return (stale?.length ?? 0) > 0 || Object.values(computed).some(({ status }) => status === 'pending');
}

export function isUnfinished({ status }: ShownJob): boolean {
  return status !== 'completed' && status !== 'failed';
}

export const jobsQuery = (scope: TableScope) =>
  queryOptions({
    queryKey: [...tableKey(scope), 'jobs'],
    queryFn: async (): Promise<ShownJob[]> => (await clientOf(scope).getTableJobs({ table: scope.table })).jobs,
    refetchInterval: ({ state }) => (state.data?.some(isUnfinished) ? busyMs : false),
  });

/**
 * Creates a row, or changes columns of one by its id. Throws the reason for which the platform refuses it, which is in an
 * answer of status 200, after the position of the row in the request.
 */
export async function saveRow({ botId, table }: TableScope, values: object, id?: number): Promise<Row> {
  const client = clientOf({ botId });
  const { rows, errors } =
    id === undefined
      ? await client.createTableRows({ table, rows: [{ ...values }] })
      : await client.updateTableRows({ table, rows: [{ ...values, id }] });
  const [row] = rows;
  if (!row) throw new Error((errors?.[0] ?? 'The platform answered no row.').replace(/^Row 0: /, ''));
  return row;
}
