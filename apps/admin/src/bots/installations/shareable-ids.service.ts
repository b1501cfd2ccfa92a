import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { InstallationPath, NewShareableId, ShareableId } from '@parley/contracts/admin/shareable-ids';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { Database, type Transaction } from '@parley/persistence/database';
import { AuditRepository } from '../../people/access/audit.repository';
import { BotVisibilityService } from '../../people/access/bot-visibility.service';
import { ShareableIdsRepository } from './shareable-ids.repository';

const lifetimeHours = 24;

/** Temporary ids under which an installation can be shown to others. */
@Injectable()
export class ShareableIdsService {
  constructor(
    private readonly database: Database,
    private readonly botVisibility: BotVisibilityService,
    private readonly shareableIds: ShareableIdsRepository,
    private readonly audit: AuditRepository,
  ) {}

  async create(caller: WorkspaceCaller, input: InstallationPath): Promise<NewShareableId> {
    const alias = await this.aliasOf(caller, input);
    return this.database.transaction(async (tx) => {
      const shareableId = await this.shareableIds.replaceByAlias(tx, input.botId, alias, lifetimeHours);
      if (!shareableId) throw notInstalled(input);
      await this.record(tx, caller, admin.shareableIds.create, input.botId, alias);
      return { shareableId };
    });
  }

  async get(caller: WorkspaceCaller, input: InstallationPath): Promise<ShareableId> {
    const alias = await this.aliasOf(caller, input);
    const found = await this.shareableIds.findByAlias(input.botId, alias);
    if (!found) throw noSuchId(alias);
    return { shareableId: found.id, isExpired: found.isExpired };
  }

  async delete(caller: WorkspaceCaller, input: InstallationPath) {
    const alias = await this.aliasOf(caller, input);
    return this.database.transaction(async (tx) => {
      if (!(await this.shareableIds.deleteByAlias(tx, input.botId, alias))) throw noSuchId(alias);
      await this.record(tx, caller, admin.shareableIds.delete, input.botId, alias);
      return {};
    });
  }

  /** Throws ResourceNotFound for a missing installation, InvalidQuery when several match. */
  private async aliasOf(caller: WorkspaceCaller, input: InstallationPath): Promise<string> {
    const { botId, integrationId, integrationInstanceAlias: named } = input;
    await this.botVisibility.requireVisible(caller, botId);
    const aliases = await this.shareableIds.listAliasesOfIntegration(botId, integrationId);
    const [alias, ...others] = aliases.filter((entry) => named === undefined || entry === named);
    if (alias === undefined) throw notInstalled(input);
    if (others.length === 0) return alias;
    throw new ApiError(
      'InvalidQuery',
      `integrationInstanceAlias is missing: the bot has "${integrationId}" installed as ${aliases.join(', ')}. Name one of them.`,
    );
  }

  private async record(tx: Transaction, caller: WorkspaceCaller, operation: Operation, botId: string, alias: string) {
    const workspaceId = caller.workspace.id;
    await this.audit.insertChange(tx, caller, {
      workspaceId,
      action: 'UNKNOWN',
      operation,
      resourceId: botId,
      value: alias,
    });
  }
}

function notInstalled({ integrationId, integrationInstanceAlias }: InstallationPath): ApiError {
  return notFound('installed integration', integrationInstanceAlias ?? integrationId);
}

function noSuchId(alias: string): ApiError {
  return new ApiError('ResourceNotFound', `The installation "${alias}" has no shareable id. Create one first.`);
}
