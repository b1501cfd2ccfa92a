import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type {
  BotVersionId,
  BotVersionReply,
  BotVersions,
  BotVersionUrl,
  CreateBotVersion,
  DeployBotVersion,
  DownloadBotVersion,
} from '@parley/contracts/admin/bot-versions';
import type { BotId } from '@parley/contracts/admin/bots';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { UrlSignature } from '@parley/secrets/url-signature';
import { AuditRepository } from '../../people/access/audit.repository';
import { BotVisibilityService } from '../../people/access/bot-visibility.service';
import { AdminConfig } from '../../config';
import { toBotVersion } from './bot-version.entity';
import { BotVersionsRepository } from './bot-versions.repository';
import { BotsRepository } from './bots.repository';
import { TargetChangesService } from './target-changes.service';
import { viewerOf } from '../../people/access/viewer';

const urlLifetimeMs = 15 * 60_000;

@Injectable()
export class BotVersionsService {
  private readonly publicUrl: string;
  private readonly signature: UrlSignature;

  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly botVisibility: BotVisibilityService,
    private readonly versions: BotVersionsRepository,
    private readonly audit: AuditRepository,
    private readonly targetChanges: TargetChangesService,
    keys: SecretKeys,
    config: AdminConfig,
  ) {
    this.publicUrl = config.publicUrl;
    this.signature = new UrlSignature(keys.derive('bot-code-urls'));
  }

  async list(caller: WorkspaceCaller, { id }: BotId): Promise<BotVersions> {
    await this.requireBot(caller, id);
    const [versions, deployedId] = await Promise.all([
      this.versions.listNewestOfBot(id),
      this.versions.findDeployedId(id),
    ]);
    return { versions: versions.map(toBotVersion), deployedId };
  }

  async get(caller: WorkspaceCaller, { id, versionId }: BotVersionId): Promise<BotVersionUrl> {
    await this.requireBot(caller, id);
    if (!(await this.versions.hasVersion(id, versionId))) throw notFound('bot version', versionId);
    const query = this.signature.sign(scopeOf(id, versionId), {}, new Date(Date.now() + urlLifetimeMs));
    return { url: `${this.publicUrl}/v1/admin/bots/${id}/versions/${versionId}/code?${query}` };
  }

  /** Authorised by the signature of the URL alone: needs no token. */
  async download({ id, versionId, expires, signature }: DownloadBotVersion): Promise<{ text: string }> {
    this.signature.verify(scopeOf(id, versionId), { expires, signature });
    const code = await this.versions.findCode(id, versionId);
    if (code === undefined) throw notFound('bot version', versionId);
    return { text: code };
  }

  async create(caller: WorkspaceCaller, { id, ...input }: CreateBotVersion): Promise<BotVersionReply> {
    return this.database.transaction(async (tx) => {
      const bot = await this.bots.lockVisible(tx, viewerOf(caller), id);
      if (!bot) throw notFound('bot', id);
      const version = await this.versions.insertFromDeployedCode(tx, id, input);
      if (!version) {
        throw new ApiError(
          'InvalidPayload',
          `The bot "${id}" has no code. Update the bot with code before you create a version.`,
        );
      }
      await this.audit.insertChange(tx, caller, {
        workspaceId: caller.workspace.id,
        action: 'UNKNOWN',
        operation: admin.botVersions.create,
        resourceId: id,
        resourceName: bot.name,
        value: input.name,
      });
      return { version: toBotVersion(version) };
    });
  }

  async deploy(caller: WorkspaceCaller, { id, versionId }: DeployBotVersion) {
    await this.database.transaction(async (tx) => {
      const bot = await this.bots.lockVisible(tx, viewerOf(caller), id);
      if (!bot) throw notFound('bot', id);
      const version = await this.versions.deployVersion(tx, id, versionId);
      if (!version) throw new ApiError('ReferenceNotFound', `versionId: the bot has no version "${versionId}".`);
      await this.targetChanges.announce(tx, { ...bot, version_id: versionId, updated_at: version.updated_at }, true);
      await this.audit.insertChange(tx, caller, {
        workspaceId: caller.workspace.id,
        action: 'DEPLOY_BOT',
        operation: admin.botVersions.deploy,
        resourceId: id,
        resourceName: bot.name,
        value: version.name,
      });
    });
    return {};
  }

  private async requireBot(caller: WorkspaceCaller, id: string): Promise<void> {
    await this.botVisibility.requireVisible(caller, id);
  }
}

function scopeOf(botId: string, versionId: string): string[] {
  return ['GET', botId, versionId];
}
