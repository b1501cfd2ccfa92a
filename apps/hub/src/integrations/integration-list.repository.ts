import { Injectable } from '@nestjs/common';
import type { ListIntegrations, ListOwnIntegrations } from '@parley/contracts/hub/integrations';
import { Database } from '@parley/persistence/database';
import { Keyset, type KeyColumn, pageSize } from '@parley/persistence/keyset';
import { joinCounterAt, joinCurrentCounter } from '../counters/counters.repository';
import { readSnapshot, type Snapshot, withSnapshot } from '../counters/snapshot';
import { listedUrl } from '../publishing/publications.repository';
import { searchedWords, searchQuery } from '../publishing/search-words';
import { versionCondition } from '../publishing/version-condition';
import type { ListedRow } from './integration.entity';
import { entryColumns, ownerColumns } from './integrations.repository';

/** All versions of a name fit into one page: older command line tools never request a second one. */
const maxOfOneName = 1000;

/** Snapshot time and sort keys, which are `bigint` and arrive as text. */
type Row = ListedRow & { time: string; score: string; popularity: string };
interface Page {
  rows: ListedRow[];
  nextToken?: string;
}

/** Sort key: one install weighs as much as ten views. */
const popularity = '(coalesce(installs, 0)::bigint * 10 + coalesce(views, 0))';
/** Snapshot time: the current one for the first page, the parameter for later pages. */
const moment = 'coalesce($1::bigint, (SELECT time FROM counter_clock))';
const id: KeyColumn<Row> = { sql: 'integration.id', type: 'text', of: (row) => row.id };
/** Sort keys, each followed by the id, since none is unique. */
const orders: Record<NonNullable<ListIntegrations['sortBy']> | 'relevance', KeyColumn<Row>[]> = {
  createdAt: [{ sql: 'integration.created_at', type: 'timestamptz', of: (row) => row.created_at }, id],
  updatedAt: [{ sql: 'integration.updated_at', type: 'timestamptz', of: (row) => row.updated_at }, id],
  name: [{ sql: 'integration.name', type: 'text', of: (row) => row.name }, id],
  installCount: [{ sql: 'coalesce(installs, 0)', type: 'int8', of: (row) => row.installs }, id],
  popularity: [{ sql: popularity, type: 'int8', of: (row) => row.popularity }, id],
  relevance: [{ sql: 'score', type: 'int8', of: (row) => row.score }, id],
};

@Injectable()
export class IntegrationListRepository {
  constructor(private readonly database: Database) {}

  /**
   * Only the listed version of each name for `latest`, or for a query without a version, name and bot. Index
   * integration_listed.
   */
  async listPublic(query: ListIntegrations): Promise<Page> {
    const { name, version, installedByBotId } = query;
    const isNarrow = name !== undefined || version !== undefined || installedByBotId !== undefined;
    const shown =
      isNarrow && version !== 'latest' ? "integration.visibility = 'public' AND NOT dev" : 'integration.is_listed';
    return this.page(query, [], () => [shown]);
  }

  /** All versions of the workspace; with `dev`, only those under development. Index integration_workspace. */
  async listOwn(workspaceId: string, query: ListOwnIntegrations): Promise<Page> {
    const { visibility, dev = false, version } = query;
    return this.page(query, [workspaceId, visibility, dev], (values) => [
      `integration.workspace_id = $${values.push(workspaceId)}`,
      `dev = $${values.push(dev)}`,
      ...(visibility ? [`integration.visibility = $${values.push(visibility)}`] : []),
      ...(version === 'latest' ? [isHighestOfItsName] : []),
    ]);
  }

  private async page(
    query: ListIntegrations,
    scope: unknown[],
    scopeConditions: (values: unknown[]) => string[],
  ): Promise<Page> {
    const { nextToken, limit: _limit, pageSize: _pageSize, ...filters } = query;
    const token = nextToken === undefined ? undefined : readSnapshot(nextToken);
    const boundTo = (snapshot: Snapshot) => [scope, filters, snapshot];
    const values: unknown[] = [token?.snapshot.time ?? null];
    const keyset = orderOf(query);
    const limit = query.name === undefined ? pageSize(query) : maxOfOneName;
    const { score, matches } = searchConditions(query.search, values);
    const conditions = [
      ...scopeConditions(values),
      ...matches,
      ...filterConditions(query, values),
      token ? keyset.after(token.rest, boundTo(token.snapshot), values) : 'true',
    ];
    // The first page reads current counters, which needs no history.
    const counter = token ? joinCounterAt(moment) : joinCurrentCounter;
    // Reads the long columns only for the rows of the page.
    const rows = await this.database.query<Row>(
      `WITH page AS (
         SELECT integration.id, ${moment} AS time, coalesce(installs, 0) AS installs, coalesce(views, 0) AS views,
           ${popularity} AS popularity, score
         FROM integration ${counter} CROSS JOIN LATERAL (SELECT ${score} AS score) AS scored
         WHERE ${conditions.join(' AND ')}
         ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}
       )
       SELECT ${entryColumns}, ${listedUrl('integration.icon_url', keyset.orderBy)} AS icon_url, '' AS readme_url,
         ${ownerColumns}, action_names, time, installs, views, popularity, score,
         ARRAY(SELECT implemented.name FROM integration_interface implemented
           WHERE integration_id = integration.id ORDER BY alias) AS interface_names
       FROM page JOIN integration USING (id) JOIN workspace ON workspace.id = integration.workspace_id
       ORDER BY ${keyset.orderBy}`,
      values,
    );
    const snapshot = token?.snapshot ?? { time: rows[0]?.time ?? '0', takenAt: Date.now() };
    const page = keyset.page(rows, limit, boundTo(snapshot));
    return { rows: page.rows, nextToken: page.nextToken && withSnapshot(snapshot, page.nextToken) };
  }
}

const isHighestOfItsName = `NOT is_prerelease AND NOT EXISTS (SELECT FROM integration higher
  WHERE higher.workspace_id = integration.workspace_id AND higher.name = integration.name AND NOT higher.dev
    AND NOT higher.is_prerelease AND higher.version_key > integration.version_key)`;

function orderOf({ sortBy, direction, search }: ListIntegrations): Keyset<Row> {
  const order = sortBy ?? (search === undefined ? 'createdAt' : 'relevance');
  return new Keyset(orders[order], direction ?? (order === 'name' ? 'asc' : 'desc'));
}

function filterConditions(query: ListIntegrations, values: unknown[]): string[] {
  const { name, version, interfaceId, interfaceName, installedByBotId, verificationStatus } = query;
  const implementing = (column: string, value: string) =>
    `EXISTS (SELECT FROM integration_interface implemented
       WHERE integration_id = integration.id AND implemented.${column} = $${values.push(value)})`;
  return [
    ...(name === undefined ? [] : [`integration.name = $${values.push(name)}`]),
    ...(version === undefined || version === 'latest' ? [] : [versionCondition(version, values)]),
    ...(interfaceId === undefined ? [] : [implementing('interface_id', interfaceId)]),
    ...(interfaceName === undefined ? [] : [implementing('name', interfaceName)]),
    ...(installedByBotId === undefined
      ? []
      : [
          `integration.id IN (SELECT entry_id FROM installation
             WHERE bot_id = $${values.push(installedByBotId)} AND kind = 'integration')`,
        ]),
    ...(verificationStatus === undefined
      ? []
      : [`integration.verification_status = $${values.push(verificationStatus)}`]),
  ];
}

/**
 * Conditions and score of a search: the exact name first, then name prefixes, then by the weight of the matched words.
 * A part of a name matches as well, even inside of a word.
 */
function searchConditions(search: string | undefined, values: unknown[]): { score: string; matches: string[] } {
  if (search === undefined) return { score: '0::bigint', matches: [] };
  const text = search.trim();
  const words = `$${values.push(searchQuery(searchedWords(text)))}::tsquery`;
  const pattern = `$${values.push(`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`)}`;
  const exact = `$${values.push(text.toLowerCase())}`;
  return {
    score: `(CASE WHEN lower(integration.name) = ${exact} THEN 4000000 WHEN starts_with(lower(integration.name), ${exact})
      THEN 2000000 ELSE 0 END + round(ts_rank(integration.search, ${words}) * 1000000))::bigint`,
    matches: [`(integration.search @@ ${words} OR integration.name ILIKE ${pattern})`],
  };
}
