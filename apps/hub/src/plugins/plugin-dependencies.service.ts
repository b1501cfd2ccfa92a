import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { mergeEntries } from '@parley/contracts/entries';
import { ApiError } from '@parley/contracts/errors';
import type { DependenciesDraft, DependencyDraft } from '@parley/contracts/hub/plugin-definition';
import type { Dependencies, Dependency } from '@parley/contracts/hub/plugins';
import type { Sql } from '@parley/persistence/database';
import { PublicationsRepository } from '../publishing/publications.repository';

const maxDependencies = 50;

export const noDependencies: Dependencies = { interfaces: {}, integrations: {} };

/** Dependencies of plugins on interfaces and integrations. */
@Injectable()
export class PluginDependenciesService {
  constructor(private readonly publications: PublicationsRepository) {}

  /** Merges a draft into the dependencies. Throws InvalidPayload for too many, and the errors of `resolve`. */
  async change(
    sql: Sql,
    { workspace }: WorkspaceCaller,
    old: Dependencies,
    { interfaces = {}, integrations = {} }: DependenciesDraft = {},
  ): Promise<Dependencies> {
    const dependencies = {
      interfaces: mergeEntries(old.interfaces, await this.resolve(sql, workspace.id, 'interface', interfaces)),
      integrations: mergeEntries(old.integrations, await this.resolve(sql, workspace.id, 'integration', integrations)),
    };
    for (const [kind, entries] of Object.entries(dependencies)) {
      if (Object.keys(entries).length > maxDependencies)
        throw new ApiError('InvalidPayload', `dependencies.${kind} must have at most ${maxDependencies} entries.`);
    }
    return dependencies;
  }

  /** Throws ReferenceNotFound with the alias of a missing dependency, InvalidPayload for a draft without id and name. */
  private async resolve(
    sql: Sql,
    workspaceId: string,
    kind: 'interface' | 'integration',
    drafts: Record<string, DependencyDraft | null>,
  ): Promise<Record<string, Dependency | null>> {
    const added = Object.entries(drafts).filter((entry): entry is [string, DependencyDraft] => entry[1] !== null);
    const found = await this.publications.findReferenced(sql, kind, workspaceId, Object.fromEntries(added));
    return Object.fromEntries(
      Object.entries(drafts).map(([alias, draft]) => [
        alias,
        draft && getDependency(`dependencies.${kind}s.${alias}`, draft, found[alias]),
      ]),
    );
  }
}

function getDependency(
  path: string,
  { id, name, version }: DependencyDraft,
  found: Dependency | undefined,
): Dependency {
  if (!id && !name) throw new ApiError('InvalidPayload', `${path}: id or name is required.`);
  if (!found) throw new ApiError('ReferenceNotFound', `${path}: ${id ?? `${name} ${version ?? 'latest'}`} not found.`);
  return found;
}
