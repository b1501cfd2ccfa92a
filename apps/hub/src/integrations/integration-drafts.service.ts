import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { WorkspaceLabel } from '@parley/contracts/admin/workspaces';
import { mergeEntries } from '@parley/contracts/entries';
import { ApiError } from '@parley/contracts/errors';
import type { ImplementationDraft, IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import type {
  CreateIntegration,
  Implementation,
  IntegrationDraft,
  UpdateIntegration,
} from '@parley/contracts/hub/integrations';
import type { Visibility } from '@parley/contracts/hub/publication';
import type { Sql } from '@parley/persistence/database';
import { SecretBox } from '@parley/secrets/secret-box';
import { changeLabels, newLabels, withoutFileNames } from '../publishing/labels';
import { checkName } from '../publishing/publication-name';
import { requirePublisher } from '../publishing/publisher';
import { checkSize } from '../publishing/size';
import { visibilityAfter } from '../publishing/visibility';
import { breakingChanges } from './breaking-changes';
import { emptyDefinition, mergeDefinition } from './definition';
import { checkAttributes, checkDefinition, checkInterfaces, checkSecrets } from './definition-limits';
import type { IntegrationRow } from './integration.entity';
import { alreadyExists, type IntegrationValues, IntegrationsRepository } from './integrations.repository';

const maxVersions = 200;
const maxShownProblems = 10;

const emptyValues: Omit<IntegrationValues, 'labels'> = {
  url: null,
  definition: emptyDefinition,
  interfaces: {},
  attributes: null,
  sdkVersion: null,
  layers: [],
  maxExecutionTime: null,
  secrets: {},
  visibility: 'private',
};

/** Merges drafts of integrations into the values to store, and validates them. */
@Injectable()
export class IntegrationDraftsService {
  constructor(
    private readonly integrations: IntegrationsRepository,
    private readonly box: SecretBox,
  ) {}

  /** Validates a creation and returns its values. A caller that writes them needs the lock on the name. */
  async valuesOf(sql: Sql, caller: WorkspaceCaller, input: CreateIntegration): Promise<IntegrationValues> {
    const { name, version, dev = false } = input;
    const { workspace } = caller;
    const draft = dev ? withoutFileNames(input) : input;
    const values = await this.merge(sql, caller, { ...emptyValues, labels: newLabels(name) }, draft);
    const { versions, isTaken } = await this.integrations.describeName(sql, workspace.id, { name, dev });
    if (!dev && (await this.integrations.hasVersion(sql, workspace.id, name, version)))
      throw alreadyExists(name, version);
    if (versions >= maxVersions) {
      throw new ApiError(
        'LimitExceeded',
        `version: integration "${name}" has ${maxVersions} versions, which is the maximum. Delete one first.`,
      );
    }
    if (isPublished({ ...values, dev })) {
      requirePublisher(caller);
      if (isTaken) throw nameTaken(name);
    }
    return values;
  }

  /** Validates a change of a version and returns its new values. */
  async valuesAfter(
    sql: Sql,
    caller: WorkspaceCaller,
    row: IntegrationRow,
    input: UpdateIntegration,
    label?: WorkspaceLabel,
  ): Promise<IntegrationValues> {
    const current = toValues(row);
    const values = await this.merge(sql, caller, current, row.dev ? withoutFileNames(input) : input);
    const wasPublished = isPublished(row);
    const willBePublished = isPublished({ ...values, dev: row.dev });
    if (wasPublished || willBePublished) requirePublisher(caller);
    if (willBePublished && !wasPublished) {
      if (label) checkName(row.name, label.handle);
      const { isTaken } = await this.integrations.describeName(sql, caller.workspace.id, row);
      if (isTaken) throw nameTaken(row.name);
    }
    const isUsed = wasPublished || (!row.dev && (await this.integrations.isInstalledFromHub(sql, row.id)));
    if (isUsed && !input.allowBreakingChanges) requireNoBreak(current.definition, values.definition);
    return values;
  }

  private async merge(
    sql: Sql,
    { workspace }: WorkspaceCaller,
    current: IntegrationValues,
    change: IntegrationDraft,
  ): Promise<IntegrationValues> {
    const definition = mergeDefinition(current.definition, change);
    checkDefinition(definition);
    const secrets = mergeEntries(current.secrets, this.seal(change.secrets ?? {}));
    checkSecrets(secrets);
    const interfaces = mergeEntries(
      current.interfaces,
      await this.resolveInterfaces(sql, workspace.id, change.interfaces ?? {}),
    );
    checkInterfaces(interfaces);
    checkSize(definition, interfaces);
    const attributes = change.attributes
      ? mergeEntries(current.attributes ?? {}, change.attributes)
      : current.attributes;
    checkAttributes(attributes ?? {});
    return {
      labels: changeLabels(change, current.labels),
      url: change.url === undefined ? current.url : change.url,
      definition,
      interfaces,
      attributes,
      sdkVersion: change.sdkVersion ?? current.sdkVersion,
      layers: change.layers ?? current.layers,
      maxExecutionTime: change.maxExecutionTime ?? current.maxExecutionTime,
      secrets,
      visibility: visibilityAfter(current.visibility, change),
      code: change.code,
    };
  }

  private seal(secrets: Record<string, string | null>): Record<string, string | null> {
    return Object.fromEntries(
      Object.entries(secrets).map(([name, value]) => [name, value === null ? null : this.box.seal(value)]),
    );
  }

  /** Throws ReferenceNotFound for an interface that is missing or private to another workspace. */
  private async resolveInterfaces(
    sql: Sql,
    workspaceId: string,
    drafts: Record<string, ImplementationDraft | null>,
  ): Promise<Record<string, Implementation | null>> {
    const ids = Object.values(drafts).flatMap((draft) => (draft ? [draft.id] : []));
    const found = await this.integrations.lockImplementableInterfaces(sql, workspaceId, ids);
    const resolved = Object.entries(drafts).map(([alias, draft]): [string, Implementation | null] => {
      if (draft === null) return [alias, null];
      const { id, entities = {}, actions = {}, events = {}, channels = {} } = draft;
      const declared = found.get(id);
      if (!declared) throw new ApiError('ReferenceNotFound', `interfaces.${alias}.id: interface "${id}" not found.`);
      return [alias, { id, ...declared, entities, actions, events, channels }];
    });
    return Object.fromEntries(resolved);
  }
}

function toValues(row: IntegrationRow): IntegrationValues {
  const { title, description, icon_url, readme_url } = row;
  const { url, definition, interfaces, attributes, layers, secrets, visibility } = row;
  return {
    labels: { title, description, icon_url, readme_url },
    ...{ url, definition, interfaces, attributes, layers, secrets, visibility },
    sdkVersion: row.sdk_version,
    maxExecutionTime: row.max_execution_time,
  };
}

export function isPublished({ dev, visibility }: { dev: boolean; visibility: Visibility }): boolean {
  return !dev && visibility !== 'private';
}

function requireNoBreak(before: IntegrationDefinition, after: IntegrationDefinition): void {
  const problems = breakingChanges(before, after);
  if (problems.length === 0) return;
  const shown = problems.slice(0, maxShownProblems);
  const more = problems.length > shown.length ? ` and ${problems.length - shown.length} more` : '';
  throw new ApiError(
    'BreakingChanges',
    `The change breaks bots that use this version: ${shown.join('; ')}${more}. Publish another version instead.`,
  );
}

function nameTaken(name: string): ApiError {
  return new ApiError(
    'AlreadyExists',
    `name: another workspace has published an integration "${name}". Use another name.`,
  );
}
