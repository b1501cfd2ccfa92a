import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ApiError } from '@parley/contracts/errors';
import { builtInWorkspace } from '@parley/contracts/hub/built-in';
import type { IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import type { Implementation } from '@parley/contracts/hub/integrations';
import type { VerificationStatus, Visibility } from '@parley/contracts/hub/publication';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { isForeignKeyViolation, isUniqueViolation } from '@parley/persistence/errors';
import { newId } from '@parley/persistence/ids';
import type { Repository } from 'typeorm';
import type { LabelColumns } from '../publishing/labels';
import { searchVector } from '../publishing/search-words';
import { isPrerelease, versionKey } from '../publishing/version-key';
import { isExact, isRange, pickVersion } from '../publishing/versions';
import { joinCurrentCounter } from '../counters/counters.repository';
import { IntegrationEntity, type IntegrationRow, type PublishedRow } from './integration.entity';
import { IntegrationInterfaceEntity } from './integration-interface.entity';

export const entryColumns = `integration.id, integration.workspace_id, integration.name, integration.version, integration.title,
  integration.description, integration.attributes, integration.visibility,
  integration.verification_status, integration.lifecycle_status, integration.created_at, integration.updated_at`;
export const ownerColumns = 'workspace.name AS owner_name, workspace.handle AS owner_handle';
const columns = `${entryColumns}, integration.icon_url, integration.readme_url, dev, url, definition, sdk_version, layers, max_execution_time, has_code, secrets,
  (SELECT coalesce(json_object_agg(alias, json_build_object('id', interface_id, 'name', implemented.name,
     'version', implemented.version, 'entities', names -> 'entities', 'actions', names -> 'actions',
     'events', names -> 'events', 'channels', names -> 'channels') ORDER BY alias), '{}')
   FROM integration_interface implemented WHERE integration_id = integration.id) AS interfaces`;

const isPublished = "(NOT dev AND visibility <> 'private')";

export interface IntegrationValues {
  labels: LabelColumns;
  url: string | null;
  definition: IntegrationDefinition;
  interfaces: Record<string, Implementation>;
  attributes: Record<string, string> | null;
  sdkVersion: string | null;
  layers: string[];
  maxExecutionTime: number | null;
  /** Encrypted values by name. */
  secrets: Record<string, string>;
  visibility: Visibility;
  /** Undefined keeps the stored code. */
  code?: string;
}

export interface NewIntegration extends IntegrationValues {
  workspaceId: string;
  name: string;
  version: string;
  dev: boolean;
  /** Encrypted. */
  signingSecret: string;
}

@Injectable()
export class IntegrationsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(IntegrationEntity) private readonly integrations: Repository<IntegrationEntity>,
  ) {}

  /**
   * Advisory lock per name: serialises creation and publication of its versions across all workspaces until the
   * transaction ends.
   */
  async lockName(tx: Transaction, name: string): Promise<void> {
    await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('integration:' || $1, 0))", [name]);
  }

  /**
   * Number of versions that the workspace has of a name with this `dev` flag, and whether another workspace has
   * published the name. Indexes integration_workspace and integration_published.
   */
  async describeName(
    sql: Sql,
    workspaceId: string,
    { name, dev }: { name: string; dev: boolean },
  ): Promise<{ versions: number; isTaken: boolean }> {
    const [row] = await sql.query<{ versions: number; is_taken: boolean }>(
      `SELECT (SELECT count(*)::int FROM integration WHERE workspace_id = $1 AND name = $2 AND dev = $3) AS versions,
         EXISTS (SELECT FROM integration WHERE name = $2 AND ${isPublished} AND workspace_id <> $1)
           AS is_taken`,
      [workspaceId, name, dev],
    );
    return { versions: row!.versions, isTaken: row!.is_taken };
  }

  hasVersion(sql: Sql, workspaceId: string, name: string, version: string): Promise<boolean> {
    return sql.manager.existsBy(IntegrationEntity, { workspace_id: workspaceId, name, version, dev: false });
  }

  /** Finds interfaces that the workspace may implement, and locks them against deletion until the transaction ends. */
  async lockImplementableInterfaces(
    sql: Sql,
    workspaceId: string,
    ids: string[],
  ): Promise<Map<string, { name: string; version: string }>> {
    const rows = await sql.query<{ id: string; name: string; version: string }>(
      `SELECT id, name, version FROM interface
       WHERE id = ANY($2::text[]) AND (workspace_id = $1 OR visibility <> 'private') FOR KEY SHARE`,
      [workspaceId, ids],
    );
    return new Map(rows.map(({ id, ...label }) => [id, label]));
  }

  /** Throws AlreadyExists when the workspace has this version of the name. */
  async insertIntegration(tx: Transaction, integration: NewIntegration): Promise<IntegrationRow> {
    const id = newId('intver');
    const { workspaceId, name, version, dev } = integration;
    await tx.manager
      .insert(IntegrationEntity, {
        id,
        workspace_id: workspaceId,
        name,
        version,
        version_key: versionKey(version),
        is_prerelease: isPrerelease(version),
        dev,
        signing_secret: integration.signingSecret,
        title: '',
        description: '',
        definition: {},
        secrets: {},
        visibility: 'private',
        search: '',
      })
      .catch((error: unknown) => {
        if (isUniqueViolation(error, 'integration_name')) throw alreadyExists(name, version);
        throw error;
      });
    await this.saveValues(tx, { id, name }, integration);
    return (await this.findIntegrationById(tx, workspaceId, id))!;
  }

  /** Replaces all values that can change. Needs the lock on the name. */
  async saveValues(
    tx: Transaction,
    { id, name }: { id: string; name: string },
    values: IntegrationValues,
  ): Promise<void> {
    const { labels, definition, interfaces, code } = values;
    const { title, description } = labels;
    const text = {
      name,
      title,
      description,
      actions: Object.keys(definition.actions),
      interfaces: Object.values(interfaces).map((implemented) => implemented.name),
    };
    await tx.query(
      `UPDATE integration SET title = $2, description = $3, url = $4, definition = $5, attributes = $6, sdk_version = $7,
         layers = $8, max_execution_time = $9, secrets = $10, visibility = $11,
         was_published = was_published OR $11 <> 'private', search = $12::tsvector,
         has_code = has_code OR $13, icon_url = $14, readme_url = $15, action_names = $16, updated_at = now()
       WHERE id = $1`,
      [
        id,
        title,
        description,
        values.url,
        JSON.stringify(definition),
        values.attributes === null ? null : JSON.stringify(values.attributes),
        values.sdkVersion,
        values.layers,
        values.maxExecutionTime,
        JSON.stringify(values.secrets),
        values.visibility,
        searchVector(text),
        code !== undefined,
        labels.icon_url,
        labels.readme_url,
        text.actions,
      ],
    );
    await this.saveInterfaces(tx, id, interfaces);
    if (code !== undefined) await this.saveCode(tx, id, code);
    await this.updateListed(tx, name);
  }

  /**
   * Number of names that the workspace owns. Advisory lock per workspace: concurrent counts run one after the other,
   * and the later one includes the changes of the earlier.
   */
  async countNames(tx: Transaction, workspaceId: string): Promise<{ count: number; at: Date }> {
    await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('integrations-of:' || $1, 0))", [workspaceId]);
    const [row] = await tx.query<{ count: number; at: Date }>(
      `SELECT count(DISTINCT name)::int AS count, clock_timestamp() AS at FROM integration
       WHERE workspace_id = $1 AND NOT dev`,
      [workspaceId],
    );
    return row!;
  }

  async setVerificationStatus(tx: Transaction, id: string, status: VerificationStatus): Promise<void> {
    await tx.query('UPDATE integration SET verification_status = $2, updated_at = now() WHERE id = $1', [id, status]);
  }

  /** Takes the encrypted secret. The former one stays valid for 24 hours. */
  async rotateSigningSecret(tx: Transaction, id: string, signingSecret: string): Promise<void> {
    await tx.query(
      `UPDATE integration SET signing_secret = $2, previous_signing_secret = signing_secret,
         previous_signing_secret_until = now() + interval '24 hours', updated_at = now()
       WHERE id = $1`,
      [id, signingSecret],
    );
  }

  /** Throws ReferenceConstraint when a plugin depends on the integration. */
  async deleteIntegration(tx: Transaction, { id, name }: { id: string; name: string }): Promise<void> {
    await tx.manager.delete(IntegrationEntity, { id }).catch((error: unknown) => {
      if (!isForeignKeyViolation(error)) throw error;
      throw new ApiError(
        'ReferenceConstraint',
        `Cannot delete integration "${id}": plugins depend on it. Remove it from their dependencies first.`,
      );
    });
    await this.updateListed(tx, name);
  }

  /** Locks the name and the row until the transaction ends. */
  async findIntegrationForUpdate(
    tx: Transaction,
    workspaceId: string,
    id: string,
  ): Promise<IntegrationRow | undefined> {
    const named = await tx.manager.findOne(IntegrationEntity, {
      select: { name: true },
      where: { workspace_id: workspaceId, id },
    });
    if (!named) return undefined;
    await this.lockName(tx, named.name);
    // Row lock too: the deletion of a workspace deletes its integrations without the lock on the name.
    await tx.query('SELECT FROM integration WHERE id = $1 FOR NO KEY UPDATE', [id]);
    return this.findIntegrationById(tx, workspaceId, id);
  }

  async findIntegrationById(sql: Sql, workspaceId: string, id: string): Promise<IntegrationRow | undefined> {
    const [row] = await sql.query<IntegrationRow>(
      `SELECT ${columns} FROM integration WHERE workspace_id = $1 AND id = $2`,
      [workspaceId, id],
    );
    return row;
  }

  /** Finds a version that the workspace owns, published or not. Index integration_name. */
  async findOwnByName(workspaceId: string, name: string, versionOrRange: string): Promise<IntegrationRow | undefined> {
    return this.findVersion('workspace_id = $1 AND name = $2 AND NOT dev', [workspaceId, name], versionOrRange);
  }

  async findPublishedById(id: string): Promise<PublishedRow | undefined> {
    return this.findShown(`integration.id = $1 AND ${isPublished}`, [id]);
  }

  /** Finds public and unlisted integrations. Index integration_published. */
  async findPublishedByName(name: string, versionOrRange: string): Promise<PublishedRow | undefined> {
    const condition = `integration.name = $1 AND ${isPublished}`;
    const version = isExact(versionOrRange)
      ? versionOrRange
      : await this.pickVersionOf(condition, [name], versionOrRange);
    const found =
      version === undefined ? undefined : await this.findShown(`${condition} AND version = $2`, [name, version]);
    if (found || !isRange(versionOrRange)) return found;
    // The built-in one stands for all versions that nobody has published.
    return this.findShown('integration.name = $1 AND integration.workspace_id = $2', [name, builtInWorkspace.id]);
  }

  /**
   * Name with a handle, `handle/name`, of the only public integration with this name after a handle. Reads the published
   * names of all workspaces. Index integration_published.
   */
  async findNameWithHandle(name: string): Promise<string | undefined> {
    const rows = await this.database.query<{ name: string }>(
      `SELECT DISTINCT name FROM integration
       WHERE $1 <> '' AND split_part(name, '/', 2) = $1 AND NOT dev AND visibility = 'public' LIMIT 2`,
      [name],
    );
    return rows.length === 1 ? rows[0]!.name : undefined;
  }

  /**
   * True when a bot has it installed and it was published at some time; it may be private now. Index
   * installation_entry.
   */
  async isInstalledFromHub(sql: Sql, id: string): Promise<boolean> {
    const rows = await sql.query(
      `SELECT FROM installation JOIN integration ON integration.id = entry_id
       WHERE entry_id = $1 AND kind = 'integration' AND was_published LIMIT 1`,
      [id],
    );
    return rows.length > 0;
  }

  async findOwner(id: string): Promise<string | undefined> {
    const row = await this.integrations.findOne({ select: { workspace_id: true }, where: { id } });
    return row?.workspace_id;
  }

  /** Selects integrations that the workspace owns, that are published, or whose id is in `installedIds`. */
  async findInstallable(workspaceId: string, ids: string[], installedIds: string[]): Promise<IntegrationRow[]> {
    return this.database.query<IntegrationRow>(
      `SELECT ${columns} FROM integration
       WHERE id = ANY($2::text[]) AND (workspace_id = $1 OR ${isPublished} OR id = ANY($3::text[]))`,
      [workspaceId, ids, installedIds],
    );
  }

  private async findShown(condition: string, values: unknown[]): Promise<PublishedRow | undefined> {
    const [row] = await this.database.query<PublishedRow>(
      `SELECT ${columns}, ${ownerColumns}, coalesce(installs, 0) AS installs, coalesce(views, 0)::text AS views
       FROM integration JOIN workspace ON workspace.id = integration.workspace_id ${joinCurrentCounter}
       WHERE ${condition}`,
      values,
    );
    return row;
  }

  /** One query for an exact version; `latest` and ranges first read all versions of the name. */
  private async findVersion(
    condition: string,
    values: unknown[],
    versionOrRange: string,
  ): Promise<IntegrationRow | undefined> {
    const version = isExact(versionOrRange)
      ? versionOrRange
      : await this.pickVersionOf(condition, values, versionOrRange);
    if (version === undefined) return undefined;
    const [row] = await this.database.query<IntegrationRow>(
      `SELECT ${columns} FROM integration WHERE ${condition} AND version = $${values.length + 1}`,
      [...values, version],
    );
    return row;
  }

  private async pickVersionOf(
    condition: string,
    values: unknown[],
    versionOrRange: string,
  ): Promise<string | undefined> {
    const rows = await this.database.query<{ version: string }>(
      `SELECT version FROM integration WHERE ${condition}`,
      values,
    );
    return pickVersion(
      rows.map(({ version }) => version),
      versionOrRange,
    );
  }

  private async saveInterfaces(tx: Transaction, id: string, interfaces: Record<string, Implementation>): Promise<void> {
    await tx.manager.delete(IntegrationInterfaceEntity, { integration_id: id });
    await tx.manager.insert(
      IntegrationInterfaceEntity,
      Object.entries(interfaces).map(([alias, { id: interfaceId, name, version, ...names }]) => ({
        integration_id: id,
        alias,
        interface_id: interfaceId,
        name,
        version,
        names,
      })),
    );
  }

  private async saveCode(tx: Transaction, id: string, code: string): Promise<void> {
    await tx.query(
      `INSERT INTO integration_code (integration_id, code) VALUES ($1, $2)
       ON CONFLICT (integration_id) DO UPDATE SET code = excluded.code`,
      [id, code],
    );
  }

  /** Marks the highest public release of the name as the one in the hub's list. Needs the lock on the name. */
  private async updateListed(tx: Transaction, name: string): Promise<void> {
    await tx.manager.update(IntegrationEntity, { name, is_listed: true }, { is_listed: false });
    await tx.query(
      `UPDATE integration SET is_listed = true WHERE id = (
         SELECT id FROM integration WHERE name = $1 AND NOT dev AND visibility = 'public' AND NOT is_prerelease
         ORDER BY version_key DESC LIMIT 1)`,
      [name],
    );
  }
}

export function alreadyExists(name: string, version: string): ApiError {
  return new ApiError('AlreadyExists', `Integration ${name} ${version} already exists in this workspace.`);
}
