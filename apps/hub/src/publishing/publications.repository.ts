import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { builtInWorkspace } from '@parley/contracts/hub/built-in';
import type { PageQuery } from '@parley/contracts/paging';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import type { PublicationRow } from './publication.entity';
import { versionCondition } from './version-condition';
import { isRange, pickVersion } from './versions';

/** Table names; all have the columns of PublicationRow and a unique (name, workspace_id, version). */
export type Kind = 'interface' | 'plugin';

/** Scope of visible rows: rows of a workspace, all published rows, or rows that a workspace may refer to. */
export type Scope = { of: string } | 'everybody' | Visible;

export interface Visible {
  visibleTo: string;
  /** Ids that are visible in addition. */
  installedIds?: string[];
}

/** By id, or else by name and a version, range or `latest`. */
export interface PublicationFilter {
  id?: string;
  name?: string;
  version?: string;
}

export interface PublicationRef {
  id: string;
  name: string;
  version: string;
}

export interface PublicationQuery extends PageQuery {
  name?: string;
  version?: string;
}

const shortColumns = 'id, workspace_id, name, version, visibility, title, description, created_at, updated_at';
export const publicationColumns = `${shortColumns}, icon_url, readme_url`;

/** Icons of an answer with a list, and its readmes, have at most so many characters together. */
const maxListedLength = 4_000_000;

/** SQL of a column of data URLs in a list: empty for rows beyond the limit. Reads lengths without the data. */
export function listedUrl(column: string, orderBy: string): string {
  return `CASE WHEN sum(octet_length(${column})) OVER (ORDER BY ${orderBy}) > ${maxListedLength} THEN '' ELSE ${column} END`;
}

/** Limit for the versions of a name in a workspace, which fit into one page. */
const maxVersions = 200;

const newestFirst = new Keyset<PublicationRow>([
  { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
  { sql: 'id', type: 'text', of: (row) => row.id },
]);

@Injectable()
export class PublicationsRepository {
  constructor(private readonly database: Database) {}

  /** Finds an exact version, the highest in a range, or `latest`. Built-in ones come last. */
  async findByNameAndVersion(
    sql: Sql,
    kind: Kind,
    scope: Scope,
    { name, version }: { name: string; version: string },
  ): Promise<PublicationRef | undefined> {
    const values: unknown[] = [name, builtInWorkspace.id];
    const rows = await sql.query<PublicationRef & { is_built_in: boolean }>(
      `SELECT id, name, version, workspace_id = $2 AS is_built_in FROM ${kind}
       WHERE name = $1 AND ${inScope(scope, values)}`,
      values,
    );
    return pickPublished(rows, version);
  }

  /**
   * Resolves each alias among the rows that the workspace may refer to: by id, or else by name, where the workspace's
   * own come first and built-in ones last. Undefined when nothing matches.
   */
  async findReferenced(
    sql: Sql,
    kind: Kind | 'integration',
    workspaceId: string,
    filters: Record<string, PublicationFilter>,
  ): Promise<Record<string, PublicationRef | undefined>> {
    const all = Object.values(filters);
    const rows = await sql.query<PublicationRef & { is_own: boolean; is_built_in: boolean }>(
      `SELECT id, name, version, workspace_id = $1 AS is_own, workspace_id = $4 AS is_built_in FROM ${kind}
       WHERE (id = ANY($2::text[]) OR name = ANY($3::text[])) AND (workspace_id = $1 OR visibility <> 'private')
       ${kind === 'integration' ? 'AND NOT dev' : ''}`,
      [
        workspaceId,
        all.flatMap(({ id }) => id ?? []),
        all.flatMap(({ id, name }) => (id ? [] : (name ?? []))),
        builtInWorkspace.id,
      ],
    );
    return Object.fromEntries(
      Object.entries(filters).map(([alias, filter]) => {
        if (filter.id) return [alias, rows.find(({ id }) => id === filter.id)];
        const named = rows.filter(({ name }) => name === filter.name);
        const own = named.filter(({ is_own }) => is_own);
        return [alias, pick(own, filter.version) ?? pickPublished(named, filter.version)];
      }),
    );
  }

  /**
   * Advisory lock per name: serialises its changes until the transaction ends. Throws AlreadyExists for a publication
   * under a name that another workspace has published. The operator's workspace may use the names of built-in ones.
   */
  async claimName(
    tx: Transaction,
    kind: Kind,
    { workspace_id, name, visibility }: Pick<PublicationRow, 'workspace_id' | 'name' | 'visibility'>,
    { isOperators = false }: { isOperators?: boolean } = {},
  ): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`hub:${kind}:${name}`]);
    if (visibility === 'private') return;
    const owners = await tx.query<{ workspace_id: string }>(
      `SELECT DISTINCT workspace_id FROM ${kind} WHERE name = $1 AND workspace_id <> $2 AND visibility <> 'private'`,
      [name, workspace_id],
    );
    if (owners.some((owner) => owner.workspace_id !== builtInWorkspace.id)) {
      throw new ApiError('AlreadyExists', `name: another workspace has published "${name}". Choose another name.`);
    }
    if (owners.length > 0 && !isOperators) {
      throw new ApiError(
        'AlreadyExists',
        `name: "${name}" belongs to a built-in ${kind}, and only the operator's workspace may publish it. Choose another name.`,
      );
    }
  }

  /** Throws LimitExceeded when the name has the maximum number of versions. Call it after `claimName`. */
  async requireVersionRoom(
    tx: Transaction,
    kind: Kind,
    { workspace_id, name }: Pick<PublicationRow, 'workspace_id' | 'name'>,
  ): Promise<void> {
    const [row] = await tx.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${kind} WHERE name = $1 AND workspace_id = $2`,
      [name, workspace_id],
    );
    if (row!.count < maxVersions) return;
    throw new ApiError(
      'LimitExceeded',
      `version: ${kind} "${name}" has ${maxVersions} versions, which is the maximum. Delete one first.`,
    );
  }

  /** Newest first; on one page when filtered by name. Index <kind>_of_workspace or <kind>_public. */
  async listNewestFirst(kind: Kind, scope: Scope, query: PublicationQuery) {
    const { name, version, nextToken } = query;
    const limit = name === undefined ? pageSize(query) : maxVersions;
    const boundTo = [kind, scope, name, version];
    const values: unknown[] = [];
    const listed = scope === 'everybody' ? listedForEverybody(kind, values) : inScope(scope, values);
    const conditions = [
      listed,
      ...(name === undefined ? [] : [`name = $${values.push(name)}`]),
      ...(version === undefined ? [] : [versionFilterCondition(kind, listed, version, values)]),
      newestFirst.after(nextToken, boundTo, values),
    ];
    const rows = await this.database.query<PublicationRow>(
      `WITH page AS (
         SELECT ${publicationColumns} FROM ${kind} WHERE ${conditions.join(' AND ')}
         ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}
       )
       SELECT ${shortColumns}, ${listedUrl('icon_url', newestFirst.orderBy)} AS icon_url,
         ${listedUrl('readme_url', newestFirst.orderBy)} AS readme_url
       FROM page ORDER BY ${newestFirst.orderBy}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }
}

/** SQL condition for a version or a range, or for the highest release of each name for `latest`. */
function versionFilterCondition(kind: Kind, listed: string, version: string, values: unknown[]): string {
  if (version !== 'latest') return versionCondition(version, values);
  return `id IN (SELECT DISTINCT ON (name, workspace_id) id FROM ${kind} WHERE ${listed} AND NOT is_prerelease
    ORDER BY name, workspace_id, version_key DESC)`;
}

/** SQL condition for public rows. A public release replaces a built-in one of the same name. */
function listedForEverybody(kind: Kind, values: unknown[]): string {
  return `visibility = 'public' AND (workspace_id <> $${values.push(builtInWorkspace.id)} OR NOT EXISTS (
    SELECT FROM ${kind} other WHERE other.name = ${kind}.name AND other.workspace_id <> ${kind}.workspace_id
      AND other.visibility = 'public' AND NOT other.is_prerelease))`;
}

/**
 * Picks a built-in row only when no workspace has published a matching version. The newest one then stands for all versions,
 * since definitions name those of the hosted original, such as `hitl@2.1.0`.
 */
function pickPublished(
  rows: (PublicationRef & { is_built_in: boolean })[],
  version?: string,
): PublicationRef | undefined {
  const ofOthers = rows.filter(({ is_built_in }) => !is_built_in);
  const builtIn = rows.filter(({ is_built_in }) => is_built_in);
  return pick(ofOthers, version) ?? pick(builtIn, version) ?? pick(builtIn, isRange(version) ? 'latest' : version);
}

function pick(rows: PublicationRef[], filter = 'latest'): PublicationRef | undefined {
  const picked = pickVersion(
    rows.map(({ version }) => version),
    filter,
  );
  return rows.find(({ version }) => version === picked);
}

/** SQL condition for rows in the scope; appends its parameters to `values`. */
export function inScope(scope: Scope, values: unknown[]): string {
  if (scope === 'everybody') return "visibility <> 'private'";
  if ('of' in scope) return `workspace_id = $${values.push(scope.of)}`;
  const { visibleTo, installedIds = [] } = scope;
  return `(workspace_id = $${values.push(visibleTo)} OR visibility <> 'private'
    OR id = ANY($${values.push(installedIds)}::text[]))`;
}
