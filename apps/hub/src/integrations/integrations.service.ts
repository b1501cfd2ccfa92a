import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { usageChanged } from '@parley/contracts/admin/usage';
import type { WorkspaceLabel } from '@parley/contracts/admin/workspaces';
import { ApiError, notFound } from '@parley/contracts/errors';
import { hub } from '@parley/contracts/hub/hub';
import type { ImplementationDraft, IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import type {
  CreateIntegration,
  Implementation,
  IntegrationDraft,
  IntegrationId,
  IntegrationNameAndVersion,
  IntegrationReply,
  Integrations,
  IntegrationToVerify,
  ListOwnIntegrations,
  SigningSecretReply,
  UpdateIntegration,
} from '@parley/contracts/hub/integrations';
import type { Visibility } from '@parley/contracts/hub/publication';
import { hubEntryChanged } from '@parley/contracts/hub/resolution';
import type { Operation } from '@parley/contracts/operation';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { SecretBox } from '@parley/secrets/secret-box';
import { newSigningSecret } from '@parley/secrets/signing-secret';
import { InstallationsService } from '../installations/installations.service';
import { audit } from '../publishing/audit';
import { mergeEntries } from '@parley/contracts/entries';
import { changeLabels, newLabels, withoutFileNames } from '../publishing/labels';
import { checkName } from '../publishing/publication-name';
import { requirePublisher } from '../publishing/publisher';
import { checkSize } from '../publishing/size';
import { checkVersion } from '../publishing/versions';
import { visibilityAfter } from '../publishing/visibility';
import { WorkspacesService } from '../workspaces/workspaces.service';
import { breakingChanges } from './breaking-changes';
import { emptyDefinition, mergeDefinition } from './definition';
import { checkAttributes, checkDefinition, checkInterfaces, checkSecrets } from './definition-limits';
import { type IntegrationRow, toEntry, toIntegration } from './integration.entity';
import { IntegrationListRepository } from './integration-list.repository';
import { alreadyExists, type IntegrationValues, IntegrationsRepository } from './integrations.repository';

const maxVersions = 200;
const maxShownProblems = 10;

const nothing: Omit<IntegrationValues, 'labels'> = {
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

/** Integrations of a workspace, published or not; visible to all its members. */
@Injectable()
export class IntegrationsService {
  constructor(
    private readonly database: Database,
    private readonly integrations: IntegrationsRepository,
    private readonly lists: IntegrationListRepository,
    private readonly workspaces: WorkspacesService,
    private readonly installations: InstallationsService,
    private readonly outbox: Outbox,
    private readonly box: SecretBox,
  ) {}

  async create(caller: WorkspaceCaller, input: CreateIntegration): Promise<IntegrationReply> {
    const { name, version, dev = false } = input;
    await this.checkName(caller, input);
    const signingSecret = newSigningSecret();
    const row = await this.database.transaction(async (tx) => {
      await this.integrations.lockName(tx, name);
      const values = await this.valuesOf(tx, caller, input);
      const { workspace } = caller;
      const created = await this.integrations.insertIntegration(tx, {
        ...values,
        workspaceId: workspace.id,
        name,
        version,
        dev,
        signingSecret: this.box.seal(signingSecret),
      });
      await audit(this.outbox, tx, caller, {
        operation: hub.integrations.create,
        id: created.id,
        name,
        value: `${version}, ${values.visibility}`,
      });
      await this.announceUsage(tx, workspace.id);
      return created;
    });
    return { integration: toIntegration(row, signingSecret) };
  }

  async validateCreation(caller: WorkspaceCaller, input: CreateIntegration) {
    await this.checkName(caller, input);
    await this.valuesOf(this.database, caller, input);
    return {};
  }

  async update(caller: WorkspaceCaller, input: UpdateIntegration): Promise<IntegrationReply> {
    const label = await this.workspaces.labelToPublish(caller, input);
    const row = await this.database.transaction(async (tx) => {
      const current = await this.integrations.findIntegrationForUpdate(tx, caller.workspace.id, input.id);
      if (!current) throw notFound('integration', input.id);
      const values = await this.valuesAfter(tx, caller, current, input, label);
      await this.integrations.saveValues(tx, current, values);
      await this.announce(tx, caller, current, hub.integrations.update, values.visibility);
      return (await this.integrations.findIntegrationById(tx, caller.workspace.id, input.id))!;
    });
    return { integration: toIntegration(row) };
  }

  async validateUpdate(caller: WorkspaceCaller, input: UpdateIntegration) {
    const current = await this.integrations.findIntegrationById(this.database, caller.workspace.id, input.id);
    if (!current) throw notFound('integration', input.id);
    const label = await this.workspaces.labelToPublish(caller, input);
    await this.valuesAfter(this.database, caller, current, input, label);
    return {};
  }

  async delete(caller: WorkspaceCaller, { id }: IntegrationId) {
    const found = await this.integrations.findIntegrationById(this.database, caller.workspace.id, id);
    if (!found) throw notFound('integration', id);
    if (isPublished(found)) requirePublisher(caller);
    await this.installations.requireUnused(caller, 'integration', id);
    await this.database.transaction(async (tx) => {
      const current = await this.integrations.findIntegrationForUpdate(tx, caller.workspace.id, id);
      if (!current) throw notFound('integration', id);
      if (isPublished(current)) requirePublisher(caller);
      await this.integrations.deleteIntegration(tx, current);
      await this.announceUsage(tx, caller.workspace.id);
      await this.announce(tx, caller, current, hub.integrations.delete);
    });
    return {};
  }

  async requestVerification(caller: WorkspaceCaller, { integrationId: id }: IntegrationToVerify) {
    await this.database.transaction(async (tx) => {
      const current = await this.integrations.findIntegrationForUpdate(tx, caller.workspace.id, id);
      if (!current) throw notFound('integration', id);
      const { verification_status: status } = current;
      if (status === 'pending' || status === 'approved') {
        throw new ApiError(
          'RelationConflict',
          `integrationId: the verification of integration "${id}" is ${status} already.`,
        );
      }
      await this.integrations.setVerificationStatus(tx, id, 'pending');
      await this.announce(tx, caller, current, hub.integrations.requestVerification, 'pending');
    });
    return {};
  }

  async rotateSigningSecrets(caller: WorkspaceCaller, { id }: IntegrationId): Promise<SigningSecretReply> {
    const secret = newSigningSecret();
    await this.database.transaction(async (tx) => {
      const current = await this.integrations.findIntegrationForUpdate(tx, caller.workspace.id, id);
      if (!current) throw notFound('integration', id);
      await this.integrations.rotateSigningSecret(tx, id, this.box.seal(secret));
      await this.announce(tx, caller, current, hub.integrations.rotateSigningSecrets);
    });
    return { newSigningSecret: secret };
  }

  async list(caller: WorkspaceCaller, query: ListOwnIntegrations): Promise<Integrations> {
    const { installedByBotId, search } = query;
    if (installedByBotId !== undefined) await this.installations.requireBotReader(caller, installedByBotId);
    const { rows, nextToken } = await this.lists.listOwn(caller.workspace.id, query);
    return { integrations: rows.map((row) => toEntry(row, search)), meta: { nextToken } };
  }

  async get({ workspace, integration }: WorkspaceCaller, { id }: IntegrationId): Promise<IntegrationReply> {
    const row = await this.integrations.findIntegrationById(this.database, workspace.id, id);
    // An integration key may read its own integration only, not others of the workspace.
    if (!row || (integration && integration.id !== id)) throw notFound('integration', id);
    return { integration: toIntegration(row) };
  }

  async getByName(
    { workspace }: WorkspaceCaller,
    { name, version }: IntegrationNameAndVersion,
  ): Promise<IntegrationReply> {
    const row = await this.integrations.findOwnByName(workspace.id, name, version);
    if (!row) throw notFound('integration', `${name} ${version}`);
    return { integration: toIntegration(row) };
  }

  /** Calls admin: do not use inside of a transaction. */
  private async checkName(caller: WorkspaceCaller, { name, version }: CreateIntegration): Promise<void> {
    checkVersion(version);
    const { handle } = await this.workspaces.labelOf(caller);
    checkName(name, handle);
  }

  /** Validates a creation and returns its values. A caller that writes them needs the lock on the name. */
  private async valuesOf(tx: Sql, caller: WorkspaceCaller, input: CreateIntegration): Promise<IntegrationValues> {
    const { name, version, dev = false } = input;
    const { workspace } = caller;
    const draft = dev ? withoutFileNames(input) : input;
    const values = await this.merge(tx, caller, { ...nothing, labels: newLabels(name) }, draft);
    const { versions, isTaken } = await this.integrations.describeName(tx, workspace.id, { name, dev });
    if (!dev && (await this.integrations.hasVersion(tx, workspace.id, name, version)))
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

  private async valuesAfter(
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

  private async announce(
    tx: Transaction,
    caller: WorkspaceCaller,
    { id, name, version, workspace_id: workspaceId }: IntegrationRow,
    operation: Operation,
    change?: string,
  ): Promise<void> {
    const isDeleted = operation === hub.integrations.delete;
    await this.outbox.add(tx, hubEntryChanged, { kind: 'integration', id, isDeleted, workspaceId });
    await audit(this.outbox, tx, caller, { operation, id, name, value: change ? `${version}, ${change}` : version });
  }

  private async announceUsage(tx: Transaction, workspaceId: string): Promise<void> {
    const { count, at } = await this.integrations.countNames(tx, workspaceId);
    await this.outbox.add(tx, usageChanged, {
      workspaceId,
      type: 'integrations_owned_count',
      value: count,
      at: at.toISOString(),
    });
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

function isPublished({ dev, visibility }: { dev: boolean; visibility: Visibility }): boolean {
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
