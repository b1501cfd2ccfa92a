import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { botVisibility } from '@parley/contracts/admin/bot-visibility';
import type { SubjectErased } from '@parley/contracts/chat/erased-subjects';
import { notFound } from '@parley/contracts/errors';
import { resolution } from '@parley/contracts/hub/resolution';
import { logLines } from '@parley/contracts/runtime/log-tails';
import type {
  BotLogs,
  GetBotLogs,
  GetIntegrationLogs,
  LogLine,
  StoredLogs,
  WriteLogs,
} from '@parley/contracts/runtime/logs';
import { ParleyClient } from '@parley/transport/parley-client';
import { Every } from '@parley/work-queue/worker';
import { isUUID } from 'class-validator';
import { RuntimeConfig } from '../config';
import { IssueRecordsService } from './issue-records.service';
import { toBotLog, toLogLine } from './log.entity';
import { LogsRepository } from './logs.repository';

const rotateMs = 60 * 60_000;

@Injectable()
export class LogsService {
  constructor(
    private readonly client: ParleyClient,
    private readonly logs: LogsRepository,
    private readonly issues: IssueRecordsService,
    private readonly config: RuntimeConfig,
  ) {}

  /** Stores the lines, and publishes them to those who follow. Idempotent. */
  async write({ lines }: WriteLogs): Promise<object> {
    if (lines.length === 0) return {};
    await this.logs.insertLines(lines);
    for (const { botId, issue } of lines) if (issue && botId !== '') this.issues.record({ botId, ...issue });
    for (const [botId, printed] of byBot(lines.filter(isShownToBot)))
      this.client.publishTo(logLines, botId, { lines: printed });
    return {};
  }

  async list(caller: WorkspaceCaller, query: GetBotLogs): Promise<BotLogs> {
    await this.client.call(botVisibility.require, caller, { botId: query.id });
    const { rows, nextToken } = await this.logs.listOfBot(query);
    return { logs: rows.map(toBotLog), nextToken };
  }

  /** Throws ResourceNotFound for an integration of another workspace, as for a missing one. */
  async listOfIntegration(caller: WorkspaceCaller, query: GetIntegrationLogs): Promise<BotLogs> {
    const { workspaceId } = await this.client.call(resolution.owner, caller, { id: query.id });
    if (workspaceId !== caller.workspace.id) throw notFound('integration', query.id);
    const { rows, nextToken } = await this.logs.listOfIntegration(query);
    return { logs: rows.map(toBotLog), nextToken };
  }

  async listOfAnyBot(query: GetBotLogs): Promise<StoredLogs> {
    if (!isUUID(query.id)) throw notFound('bot', query.id);
    const { rows, nextToken } = await this.logs.listOfBot(query);
    return { lines: rows.map(toLogLine), nextToken };
  }

  /** Idempotent. */
  async eraseSubject({ botId, conversationId, userId }: SubjectErased): Promise<void> {
    if (conversationId !== undefined) await this.logs.deleteOfConversation(botId, conversationId);
    if (userId !== undefined) await this.logs.deleteOfUser(botId, userId);
  }

  /** Retention. Safe to run in several processes. */
  @Every({ name: 'runtime.logPartitions', everyMs: rotateMs })
  async rotate(): Promise<void> {
    await this.logs.rotate(this.config.logRetentionDays);
  }
}

function isShownToBot({ integrationId, isForBot }: LogLine): boolean {
  return integrationId === undefined || isForBot === true;
}

function byBot(lines: LogLine[]): Map<string, LogLine[]> {
  const bots = new Map<string, LogLine[]>();
  for (const line of lines) bots.set(line.botId, [...(bots.get(line.botId) ?? []), line]);
  return bots;
}
