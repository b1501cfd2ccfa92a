import { hashText } from '@parley/background/text-hash';
import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { Dependencies } from '@parley/contracts/hub/plugins';
import type { Sql, Transaction } from '@parley/persistence/database';
import { isForeignKeyViolation, isUniqueViolation } from '@parley/persistence/errors';
import { newId } from '@parley/persistence/ids';
import { isPrerelease, versionKey } from '../publishing/version-key';
import { inScope, publicationColumns, type Scope, type Visible } from '../publishing/publications.repository';
import type { Implementer } from './dereference';
import { PluginIntegrationEntity, PluginInterfaceEntity } from './plugin-dependency.entity';
import { PluginEntity, type PluginRow } from './plugin.entity';

const columns = `${publicationColumns}, definition, json_build_object(
  'interfaces', ${dependenciesSql('interface')}, 'integrations', ${dependenciesSql('integration')}) AS dependencies`;

const dependencyEntities = { interface: PluginInterfaceEntity, integration: PluginIntegrationEntity };

export type PluginValues = Omit<PluginRow, 'id' | 'created_at' | 'updated_at'>;

/** Values outside of the row type; undefined ones stay unchanged. */
export interface PluginExtras {
  sdkVersion?: string;
  node?: string;
  browser?: string;
}

@Injectable()
export class PluginsRepository {
  async insertPlugin(
    tx: Transaction,
    plugin: PluginValues,
    { sdkVersion, node, browser }: PluginExtras & { node: string; browser: string },
  ): Promise<PluginRow> {
    const id = newId('plugver');
    const { dependencies, definition, ...columns } = plugin;
    const [nodeHash, browserHash] = await this.saveCode(tx, [node, browser]);
    try {
      await tx.manager.insert(PluginEntity, {
        ...columns,
        id,
        version_key: versionKey(plugin.version),
        is_prerelease: isPrerelease(plugin.version),
        definition: definition as object,
        sdk_version: sdkVersion,
        node_code: nodeHash,
        browser_code: browserHash,
      });
    } catch (error) {
      if (!isUniqueViolation(error, 'plugin_version')) throw error;
      throw new ApiError(
        'AlreadyExists',
        `Plugin "${plugin.name}" ${plugin.version} already exists in this workspace.`,
      );
    }
    await this.saveDependencies(tx, id, dependencies);
    return (await this.findPluginById(tx, { of: plugin.workspace_id }, id))!;
  }

  /** Needs the row lock of `findPluginForUpdate`. */
  async updatePlugin(
    tx: Transaction,
    plugin: PluginRow,
    { sdkVersion, node, browser }: PluginExtras,
  ): Promise<PluginRow> {
    const old = await this.codeOf(tx, plugin.id);
    const programs = [node, browser].filter((program) => program !== undefined);
    const saved = await this.saveCode(tx, programs, [old.node_code, old.browser_code]);
    const nodeHash = node === undefined ? old.node_code : saved.shift();
    const browserHash = browser === undefined ? old.browser_code : saved.shift();
    await tx.query(
      `UPDATE plugin SET visibility = $2, title = $3, description = $4, icon_url = $5, readme_url = $6,
         definition = $7, sdk_version = coalesce($8, sdk_version), node_code = $9, browser_code = $10, updated_at = now()
       WHERE id = $1`,
      [
        plugin.id,
        plugin.visibility,
        plugin.title,
        plugin.description,
        plugin.icon_url,
        plugin.readme_url,
        JSON.stringify(plugin.definition),
        sdkVersion ?? null,
        nodeHash,
        browserHash,
      ],
    );
    await this.dropUnusedCode(tx, [old.node_code, old.browser_code]);
    await this.saveDependencies(tx, plugin.id, plugin.dependencies);
    return (await this.findPluginById(tx, { of: plugin.workspace_id }, plugin.id))!;
  }

  async findPluginById(sql: Sql, scope: Scope, id: string): Promise<PluginRow | undefined> {
    const [row] = await this.findPluginsByIds(sql, scope, [id]);
    return row;
  }

  async findPluginsByIds(sql: Sql, scope: Scope, ids: string[]): Promise<PluginRow[]> {
    const values: unknown[] = [ids];
    return sql.query<PluginRow>(
      `SELECT ${columns} FROM plugin WHERE id = ANY($1::text[]) AND ${inScope(scope, values)}`,
      values,
    );
  }

  /** Row lock: blocks other changes of the plugin until the transaction ends. */
  async findPluginForUpdate(tx: Transaction, workspaceId: string, id: string): Promise<PluginRow | undefined> {
    await tx.query('SELECT FROM plugin WHERE id = $1 AND workspace_id = $2 FOR UPDATE', [id, workspaceId]);
    return this.findPluginById(tx, { of: workspaceId }, id);
  }

  async findPluginCode(sql: Sql, scope: Scope, id: string, platform: string): Promise<string | undefined> {
    const values: unknown[] = [id, platform];
    const [row] = await sql.query<{ content: string }>(
      `SELECT content FROM plugin JOIN plugin_code
         ON hash = CASE $2::text WHEN 'node' THEN node_code WHEN 'browser' THEN browser_code END
       WHERE id = $1 AND ${inScope(scope, values)}`,
      values,
    );
    return row?.content;
  }

  async deletePlugin(tx: Transaction, id: string): Promise<void> {
    const { node_code, browser_code } = await this.codeOf(tx, id);
    await tx.manager.delete(PluginEntity, { id });
    await this.dropUnusedCode(tx, [node_code, browser_code]);
  }

  async findImplementers(sql: Sql, scope: 'everybody' | Visible, ids: string[]): Promise<Map<string, Implementer>> {
    const { visibleTo = null, installedIds = [] } = scope === 'everybody' ? {} : scope;
    const rows = await sql.query<Implementer>(
      `SELECT id, name, version, definition -> 'entities' AS entities,
         (SELECT coalesce(json_object_agg(alias, json_build_object('id', interface_id, 'name', implemented.name,
            'entities', names -> 'entities')), '{}')
          FROM integration_interface implemented WHERE integration_id = integration.id) AS interfaces
       FROM integration WHERE id = ANY($1::text[]) 
         AND (workspace_id = $2 OR (NOT dev AND visibility <> 'private') OR id = ANY($3::text[]))`,
      [ids, visibleTo, installedIds],
    );
    return new Map(rows.map((row) => [row.id, row]));
  }

  private async codeOf(tx: Transaction, id: string): Promise<Pick<PluginEntity, 'node_code' | 'browser_code'>> {
    return tx.manager.findOneOrFail(PluginEntity, { select: { node_code: true, browser_code: true }, where: { id } });
  }

  /**
   * Returns the hashes of the programs, in the same order. Row locks on the saved and the replaced code keep a
   * concurrent `dropUnusedCode` waiting until the commit.
   */
  private async saveCode(tx: Transaction, programs: string[], replaced: Buffer[] = []): Promise<Buffer[]> {
    const hashes = await Promise.all(programs.map(hashText));
    const byHash = new Map(programs.map((program, index) => [hashes[index]!.toString('hex'), program]));
    // Lock order: sorted by hash, each row once, which rules out deadlocks.
    const ordered = [...new Set([...hashes, ...replaced].map((hash) => hash.toString('hex')))].sort();
    for (const hash of ordered) {
      const program = byHash.get(hash);
      if (program === undefined) {
        await tx.query("SELECT FROM plugin_code WHERE hash = decode($1, 'hex') FOR UPDATE", [hash]);
        continue;
      }
      await tx.query(
        `INSERT INTO plugin_code (hash, content) VALUES (decode($1, 'hex'), $2)
         ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash`,
        [hash, program],
      );
    }
    return hashes;
  }

  /**
   * Locks the code first, which waits for concurrent saves of the same code, and then deletes it if no plugin refers to
   * it.
   */
  private async dropUnusedCode(tx: Transaction, hashes: Buffer[]): Promise<void> {
    await tx.query('SELECT FROM plugin_code WHERE hash = ANY($1::bytea[]) ORDER BY hash FOR UPDATE', [hashes]);
    await tx.query(
      `DELETE FROM plugin_code WHERE hash = ANY($1::bytea[])
         AND NOT EXISTS (SELECT FROM plugin WHERE node_code = hash)
         AND NOT EXISTS (SELECT FROM plugin WHERE browser_code = hash)`,
      [hashes],
    );
  }

  private async saveDependencies(tx: Transaction, id: string, dependencies: Dependencies): Promise<void> {
    for (const kind of ['interface', 'integration'] as const) {
      const entity = dependencyEntities[kind];
      const entries = Object.entries(dependencies[`${kind}s`]);
      await tx.manager.delete(entity, { plugin_id: id });
      try {
        await tx.manager.insert(
          entity,
          entries.map(([alias, dependency]) => ({ plugin_id: id, alias, [`${kind}_id`]: dependency.id })),
        );
      } catch (error) {
        if (!isForeignKeyViolation(error)) throw error;
        throw new ApiError(
          'ReferenceNotFound',
          `dependencies.${kind}s: an entry was deleted during this request. Check the ids and try again.`,
        );
      }
    }
  }
}

function dependenciesSql(kind: 'interface' | 'integration'): string {
  return `(SELECT coalesce(json_object_agg(alias, json_build_object('id', dependency.id, 'name', dependency.name,
      'version', dependency.version) ORDER BY alias), '{}')
    FROM plugin_${kind} JOIN ${kind} dependency ON dependency.id = ${kind}_id WHERE plugin_id = plugin.id)`;
}
