import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { admin } from '@parley/contracts/admin/admin';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import type { CreateIntegrationApiKey, ListIntegrationApiKeys } from '@parley/contracts/admin/integration-keys';
import type {
  CreateBotApiKey,
  CreatePersonalAccessToken,
  ListBotApiKeys,
  NewToken,
  TokenId,
} from '@parley/contracts/admin/tokens';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import { resolution } from '@parley/contracts/hub/resolution';
import type { Operation } from '@parley/contracts/operation';
import { Database, type Transaction } from '@parley/persistence/database';
import { newToken } from '@parley/secrets/token';
import { AuditRepository } from './audit.repository';
import { BotVisibilityRepository } from './bot-visibility.repository';
import { viewerOf } from './viewer';
import { toTokenEntry } from './token.entity';
import { TokensRepository } from './tokens.repository';

@Injectable()
export class TokensService {
  constructor(
    private readonly database: Database,
    private readonly tokens: TokensRepository,
    private readonly botVisibility: BotVisibilityRepository,
    private readonly audit: AuditRepository,
    private readonly client: ParleyClient,
  ) {}

  async issue(accountId: string, note: string): Promise<NewToken> {
    const value = newToken('pat');
    return { ...toTokenEntry(await this.tokens.createOfAccount(this.database, accountId, note, value)), value };
  }

  async createPersonal({ account }: AccountCaller, { note }: CreatePersonalAccessToken) {
    return { pat: await this.issue(account.id, note) };
  }

  async listPersonal({ account }: AccountCaller) {
    return { pats: (await this.tokens.listOfAccount(account.id)).map(toTokenEntry) };
  }

  async deletePersonal({ account }: AccountCaller, { id }: TokenId) {
    if (!(await this.tokens.deleteOfAccount(account.id, id))) throw notFound('personal access token', id);
    return this.revoked(id);
  }

  async createBotKey(caller: WorkspaceCaller, { botId, note }: CreateBotApiKey): Promise<NewToken> {
    const value = newToken('bak');
    const workspaceId = caller.workspace.id;
    return this.database.transaction(async (tx) => {
      const row = await this.tokens.createOfBot(tx, { workspaceId, botId }, note ?? '', value);
      if (!row) throw noSuchBot(botId);
      await this.record(tx, caller, admin.botApiKeys.create, row.id, botId);
      return { ...toTokenEntry(row), value };
    });
  }

  async listBotKeys(caller: WorkspaceCaller, { botId }: ListBotApiKeys) {
    if (!(await this.botVisibility.isVisible(viewerOf(caller), botId))) throw noSuchBot(botId);
    return { baks: (await this.tokens.listOfBot(botId)).map(toTokenEntry) };
  }

  async deleteBotKey(caller: WorkspaceCaller, { id }: TokenId) {
    await this.database.transaction(async (tx) => {
      const botId = await this.tokens.deleteOfWorkspaceBots(tx, caller.workspace.id, id);
      if (botId === undefined) throw notFound('bot API key', id);
      await this.record(tx, caller, admin.botApiKeys.delete, id, botId);
    });
    return this.revoked(id);
  }

  async createIntegrationKey(
    caller: WorkspaceCaller,
    { integrationId, note }: CreateIntegrationApiKey,
  ): Promise<NewToken> {
    await this.requireOwnIntegration(caller, integrationId);
    const value = newToken('iak');
    const workspaceId = caller.workspace.id;
    return this.database.transaction(async (tx) => {
      const row = await this.tokens.createOfIntegration(tx, { workspaceId, integrationId }, note ?? '', value);
      if (!row) throw noSuchIntegration(integrationId);
      await this.record(tx, caller, admin.integrationApiKeys.create, row.id, integrationId);
      return { ...toTokenEntry(row), value };
    });
  }

  async listIntegrationKeys(caller: WorkspaceCaller, { integrationId }: ListIntegrationApiKeys) {
    await this.requireOwnIntegration(caller, integrationId);
    const rows = await this.tokens.listOfIntegration(caller.workspace.id, integrationId);
    return { iaks: rows.map(toTokenEntry) };
  }

  async deleteIntegrationKey(caller: WorkspaceCaller, { id }: TokenId) {
    await this.database.transaction(async (tx) => {
      const integrationId = await this.tokens.deleteOfWorkspaceIntegrations(tx, caller.workspace.id, id);
      if (integrationId === undefined) throw notFound('integration API key', id);
      await this.record(tx, caller, admin.integrationApiKeys.delete, id, integrationId);
    });
    return this.revoked(id);
  }

  /** Throws ReferenceNotFound: the same error for an integration of another workspace as for a missing one. */
  private async requireOwnIntegration(caller: WorkspaceCaller, id: string): Promise<void> {
    const { workspaceId } = await this.client.call(resolution.owner, caller, { id });
    if (workspaceId === caller.workspace.id) return;
    throw noSuchIntegration(id);
  }

  private async record(tx: Transaction, caller: WorkspaceCaller, operation: Operation, keyId: string, holder: string) {
    const workspaceId = caller.workspace.id;
    await this.audit.insertChange(tx, caller, {
      workspaceId,
      action: 'UNKNOWN',
      operation,
      resourceId: keyId,
      value: holder,
    });
  }

  private revoked(id: string) {
    this.client.broadcast(credentialsChanged, { reason: `${id} was revoked` });
    return {};
  }
}

function noSuchIntegration(id: string): ApiError {
  return new ApiError('ReferenceNotFound', `integrationId: this workspace has no integration "${id}".`);
}

function noSuchBot(botId: string): ApiError {
  return new ApiError('ReferenceNotFound', `botId: this workspace has no bot "${botId}".`);
}
