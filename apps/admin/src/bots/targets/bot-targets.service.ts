import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { BotTarget, GetBotTarget } from '@parley/contracts/admin/targets';
import { notFound } from '@parley/contracts/errors';
import type { CodeTarget } from '@parley/contracts/runner/code';
import { CodeTickets } from '@parley/secrets/code-tickets';
import { SecretBox } from '@parley/secrets/secret-box';
import { AdminConfig } from '../../config';
import { CallQuotaService } from '../../people/usage/call-quota.service';
import { quotaOf } from '../../people/usage/quota-amounts';
import { type BotTargetRow, TargetsRepository } from './targets.repository';

const defaultSeconds = 60;

@Injectable()
export class BotTargetsService {
  constructor(
    private readonly targets: TargetsRepository,
    private readonly box: SecretBox,
    private readonly calls: CallQuotaService,
    private readonly tickets: CodeTickets,
    private readonly config: AdminConfig,
  ) {}

  async getBot({ botId }: GetBotTarget): Promise<BotTarget> {
    const row = await this.targets.findBot(botId);
    if (!row) throw notFound('bot', botId);
    const { events } = row.subscriptions;
    return {
      botId,
      workspaceId: row.workspace_id,
      url: row.url,
      code: await this.codeOf(botId, row),
      isDev: row.dev,
      isBlocked: row.blocked,
      subscriptions: events && Object.keys(events),
      configuration: row.configuration,
      tags: row.tags,
      timeoutMs: Math.min(
        (row.max_execution_time ?? defaultSeconds) * 1_000,
        quotaOf(this.config, 'invocation_timeout'),
      ),
      callsPerMonth: this.calls.callsPerMonth,
      isOverQuota: await this.calls.isUsedUp(row.workspace_id),
      signingSecrets: [row.signing_secret, ...row.former_secrets].map((sealed) => this.box.open(sealed)),
    };
  }

  private async codeOf(
    botId: string,
    { version_id: versionId, workspace_id: workspaceId, code_hash, secrets }: BotTargetRow,
  ): Promise<CodeTarget | null> {
    if (versionId === null) return null;
    const revision = hash('sha256', JSON.stringify([code_hash, versionId, secrets]), 'base64url');
    const ticket = await this.tickets.sign({ ownerId: botId, version: versionId, revision, workspaceId });
    return { revision, ticket };
  }
}
