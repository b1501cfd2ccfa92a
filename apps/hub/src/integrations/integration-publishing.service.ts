import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { WorkspaceLabel } from '@parley/contracts/admin/workspaces';
import { usageChanged } from '@parley/contracts/admin/usage';
import { mapEntries } from '@parley/contracts/entries';
import { ApiError, notFound } from '@parley/contracts/errors';
import { hub } from '@parley/contracts/hub/hub';
import type {
  CreateIntegration,
  IntegrationDraft,
  IntegrationId,
  IntegrationReply,
  IntegrationToVerify,
  SigningSecretReply,
  UpdateIntegration,
} from '@parley/contracts/hub/integrations';
import { hubEntryChanged } from '@parley/contracts/hub/resolution';
import type { Operation } from '@parley/contracts/operation';
import { Database, type Transaction } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { CodeCheckClient, deployed, nothingDeployed } from '@parley/service/code-check.client';
import { SecretBox } from '@parley/secrets/secret-box';
import { newSigningSecret } from '@parley/secrets/signing-secret';
import { HubConfig } from '../config';
import { InstallationsService } from '../installations/installations.service';
import { audit } from '../publishing/audit';
import { checkName } from '../publishing/publication-name';
import { requirePublisher } from '../publishing/publisher';
import { checkVersion } from '../publishing/versions';
import { WorkspacesService } from '../workspaces/workspaces.service';
import { IntegrationDraftsService, isPublished } from './integration-drafts.service';
import { type IntegrationRow, toIntegration } from './integration.entity';
import { type IntegrationValues, IntegrationsRepository } from './integrations.repository';

/** Creates, changes and deletes versions of integrations. */
@Injectable()
export class IntegrationPublishingService {
  constructor(
    private readonly database: Database,
    private readonly integrations: IntegrationsRepository,
    private readonly drafts: IntegrationDraftsService,
    private readonly workspaces: WorkspacesService,
    private readonly installations: InstallationsService,
    private readonly outbox: Outbox,
    private readonly codeChecks: CodeCheckClient,
    private readonly box: SecretBox,
    private readonly config: HubConfig,
  ) {}

  async create(caller: WorkspaceCaller, input: CreateIntegration): Promise<IntegrationReply> {
    const { name, version, dev = false } = input;
    await this.checkName(caller, input);
    const loadFailure =
      input.code === undefined
        ? null
        : await this.findLoadFailure(caller, input, await this.drafts.valuesOf(this.database, caller, input));
    const signingSecret = newSigningSecret();
    const row = await this.database.transaction(async (tx) => {
      await this.integrations.lockName(tx, name);
      const values = await this.drafts.valuesOf(tx, caller, input);
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
    return deployed({ integration: toIntegration(row, signingSecret) }, loadFailure);
  }

  async validateCreation(caller: WorkspaceCaller, input: CreateIntegration) {
    await this.checkName(caller, input);
    await this.drafts.valuesOf(this.database, caller, input);
    return {};
  }

  async update(caller: WorkspaceCaller, input: UpdateIntegration): Promise<IntegrationReply> {
    const label = await this.workspaces.labelToPublish(caller, input);
    const loadFailure =
      input.code === undefined
        ? null
        : await this.findLoadFailure(caller, input, await this.valuesAfter(caller, input, label));
    const row = await this.database.transaction(async (tx) => {
      const current = await this.getForUpdate(tx, caller, input);
      const values = await this.drafts.valuesAfter(tx, caller, current, input, label);
      await this.integrations.saveValues(tx, current, values);
      await this.announce(tx, caller, current, hub.integrations.update, values.visibility);
      return (await this.integrations.findIntegrationById(tx, caller.workspace.id, input.id))!;
    });
    return deployed({ integration: toIntegration(row) }, loadFailure);
  }

  async validateUpdate(caller: WorkspaceCaller, input: UpdateIntegration) {
    await this.valuesAfter(caller, input, await this.workspaces.labelToPublish(caller, input));
    return {};
  }

  async delete(caller: WorkspaceCaller, { id }: IntegrationId) {
    await this.database.transaction(async (tx) => {
      const current = await this.getForUpdate(tx, caller, { id });
      if (isPublished(current)) requirePublisher(caller);
      await this.installations.requireUnused(tx, 'integration', id);
      await this.integrations.deleteIntegration(tx, current);
      await this.announceUsage(tx, caller.workspace.id);
      await this.announce(tx, caller, current, hub.integrations.delete);
    });
    return {};
  }

  async requestVerification(caller: WorkspaceCaller, { integrationId: id }: IntegrationToVerify) {
    await this.database.transaction(async (tx) => {
      const current = await this.getForUpdate(tx, caller, { id });
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
      const current = await this.getForUpdate(tx, caller, { id });
      await this.integrations.rotateSigningSecret(tx, id, this.box.seal(secret));
      await this.announce(tx, caller, current, hub.integrations.rotateSigningSecrets);
    });
    return { newSigningSecret: secret };
  }

  /** May call admin: do not use inside of a transaction. */
  private async checkName(caller: WorkspaceCaller, { name, version }: CreateIntegration): Promise<void> {
    checkVersion(version);
    const { handle } = await this.workspaces.labelOf(caller);
    checkName(name, handle);
  }

  private async valuesAfter(
    caller: WorkspaceCaller,
    input: UpdateIntegration,
    label?: WorkspaceLabel,
  ): Promise<IntegrationValues> {
    const current = await this.integrations.findIntegrationById(this.database, caller.workspace.id, input.id);
    if (!current) throw notFound('integration', input.id);
    return this.drafts.valuesAfter(this.database, caller, current, input, label);
  }

  /**
   * Reason why the code of the integration cannot be loaded. An integration with a url is called there. Throws Runtime for a
   * strict deployment. Do not use inside of a transaction.
   */
  private async findLoadFailure(
    caller: WorkspaceCaller,
    { strictDeploy, id: ownerId }: Pick<IntegrationDraft, 'strictDeploy'> & Partial<IntegrationId>,
    { url, code = '', secrets }: IntegrationValues,
  ): Promise<string | null> {
    if (url !== null) return null;
    const opened = mapEntries(secrets, (sealed) => this.box.open(sealed));
    const failure = await this.codeChecks.findFailure(caller, { owner: 'integration', ownerId, code, secrets: opened });
    const isStrict = strictDeploy === true || this.config.strictDeploy === 'true';
    if (failure !== null && isStrict) throw nothingDeployed(failure);
    return failure;
  }

  private async getForUpdate(tx: Transaction, { workspace }: WorkspaceCaller, { id }: IntegrationId) {
    const row = await this.integrations.findIntegrationForUpdate(tx, workspace.id, id);
    if (!row) throw notFound('integration', id);
    return row;
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
}
