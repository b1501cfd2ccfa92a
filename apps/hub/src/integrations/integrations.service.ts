import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { requirePermission, type WorkspaceCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import { hub } from '@parley/contracts/hub/hub';
import type { ImplementationDraft } from '@parley/contracts/hub/integration-definition';
import type {
  CreateIntegration,
  Implementation,
  IntegrationDraft,
  IntegrationId,
  IntegrationNameAndVersion,
  IntegrationReply,
  Visibility,
} from '@parley/contracts/hub/integrations';
import { Database, type Sql } from '@parley/database/database';
import { Outbox } from '@parley/outbox/outbox';
import { SecretBox } from '@parley/secrets/secret-box';
import { audit } from '../publishing/audit';
import { mergeEntries } from '../publishing/merge-entries';
import { checkName } from '../publishing/names';
import { checkVersion } from '../publishing/versions';
import { visibilityAfter } from '../publishing/visibility';
import { WorkspacesService } from '../workspaces/workspaces.service';
import { emptyDefinition, mergeDefinition } from './definition';
import { checkDefinition, checkInterfaces, checkSecrets } from './definition-problems';
import { toIntegration } from './integration.entity';
import { alreadyExists, type IntegrationValues, IntegrationsRepository } from './integrations.repository';

const maxVersions = 200;

/** What an integration is before anything is said of it. */
const nothing: IntegrationValues = {
  title: '',
  description: '',
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

/** The integrations of a workspace: each of its members sees them, published or not. */
@Injectable()
export class IntegrationsService {
  constructor(
    private readonly database: Database,
    private readonly integrations: IntegrationsRepository,
    private readonly workspaces: WorkspacesService,
    private readonly outbox: Outbox,
    private readonly box: SecretBox,
  ) {}

  async create(caller: WorkspaceCaller, input: CreateIntegration): Promise<IntegrationReply> {
    const { name, version, dev = false } = input;
    await this.checkName(caller, input);
    const signingSecret = randomBytes(32).toString('hex');
    const row = await this.database.transaction(async (tx) => {
      await this.integrations.lockName(tx, name);
      const values = await this.valuesOf(tx, caller, input);
      const { workspace } = caller;
      const created = await this.integrations.create(tx, {
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
      return created;
    });
    return { integration: toIntegration(row, signingSecret) };
  }

  async get({ workspace, integration }: WorkspaceCaller, { id }: IntegrationId): Promise<IntegrationReply> {
    const row = await this.integrations.find(this.database, workspace.id, id);
    // An integration key reads its own integration and no other one of the workspace.
    if (!row || (integration && integration.id !== id)) throw notFound('integration', id);
    return { integration: toIntegration(row) };
  }

  async getByName(
    { workspace }: WorkspaceCaller,
    { name, version }: IntegrationNameAndVersion,
  ): Promise<IntegrationReply> {
    const row = await this.integrations.findByName(workspace.id, name, version);
    if (!row) throw notFound('integration', `${name} ${version}`);
    return { integration: toIntegration(row) };
  }

  /** Asks admin, and so must not run inside of a transaction. */
  private async checkName(caller: WorkspaceCaller, { name, version }: CreateIntegration): Promise<void> {
    checkVersion(version);
    const { handle } = await this.workspaces.labelOf(caller);
    checkName(name, handle);
  }

  /** What a new integration will be. Throws for what keeps it from being made. Needs the lock on the name. */
  private async valuesOf(tx: Sql, caller: WorkspaceCaller, input: CreateIntegration): Promise<IntegrationValues> {
    const { name, version, dev = false } = input;
    const { workspace } = caller;
    const values = await this.merge(tx, caller, { ...nothing, title: name.slice(0, 64) }, input);
    const { versions, isTaken } = await this.integrations.describeName(tx, workspace.id, name);
    if (!dev && (await this.integrations.hasVersion(tx, workspace.id, name, version)))
      throw alreadyExists(name, version);
    if (versions >= maxVersions) {
      throw new ApiError('LimitExceeded', `${name} has ${maxVersions} versions already: delete one that nobody uses.`);
    }
    if (!dev) this.checkPublishing(caller, { name, isTaken, visibility: values.visibility });
    return values;
  }

  private checkPublishing(
    { role }: WorkspaceCaller,
    { name, isTaken, visibility }: { name: string; isTaken: boolean; visibility: Visibility },
  ): void {
    if (visibility === 'private') return;
    if (role) requirePermission(role, 'manage');
    if (isTaken) {
      throw new ApiError(
        'AlreadyExists',
        `Another workspace has published an integration "${name}": use another name.`,
      );
    }
  }

  /** The values after a change. Throws for a change that makes no integration. */
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
    return {
      title: change.title ?? current.title,
      description: change.description ?? current.description,
      url: change.url === undefined ? current.url : change.url,
      definition,
      interfaces,
      attributes: change.attributes ? mergeEntries(current.attributes ?? {}, change.attributes) : current.attributes,
      sdkVersion: change.sdkVersion ?? current.sdkVersion,
      layers: change.layers ?? current.layers,
      maxExecutionTime: change.maxExecutionTime ?? current.maxExecutionTime,
      secrets,
      visibility: visibilityAfter(current.visibility, change),
      code: change.code,
      icon: change.icon === undefined ? undefined : decode('icon', change.icon),
      readme: change.readme === undefined ? undefined : decode('readme', change.readme),
    };
  }

  private seal(secrets: Record<string, string | null>): Record<string, string | null> {
    return Object.fromEntries(
      Object.entries(secrets).map(([name, value]) => [name, value === null ? null : this.box.seal(value)]),
    );
  }

  /** Throws ReferenceNotFound for an interface that is not there. */
  private async resolveInterfaces(
    sql: Sql,
    workspaceId: string,
    drafts: Record<string, ImplementationDraft | null>,
  ): Promise<Record<string, Implementation | null>> {
    const ids = Object.values(drafts).flatMap((draft) => (draft ? [draft.id] : []));
    const found = await this.integrations.findInterfaces(sql, workspaceId, ids);
    const resolved = Object.entries(drafts).map(([alias, draft]): [string, Implementation | null] => {
      if (draft === null) return [alias, null];
      const { id, entities = {}, actions = {}, events = {}, channels = {} } = draft;
      const declared = found.get(id);
      if (!declared)
        throw new ApiError('ReferenceNotFound', `interfaces.${alias}.id: there is no interface "${id}" here.`);
      return [alias, { id, ...declared, entities, actions, events, channels }];
    });
    return Object.fromEntries(resolved);
  }
}

function decode(field: string, base64: string): Buffer {
  if (/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(base64)) return Buffer.from(base64, 'base64');
  throw new ApiError('InvalidPayload', `${field} must be in base64.`);
}
