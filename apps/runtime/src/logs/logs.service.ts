import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { botVisibility } from '@parley/contracts/admin/bot-visibility';
import type { SubjectErased } from '@parley/contracts/chat/erased-subjects';
import type { BotLogs, GetBotLogs, WriteLogs } from '@parley/contracts/runtime/logs';
import { ParleyClient } from '@parley/transport/parley-client';
import { Every } from '@parley/work-queue/worker';
import { RuntimeConfig } from '../config';
import { toBotLog } from './log.entity';
import { LogsRepository } from './logs.repository';

const rotateMs = 60 * 60_000;

@Injectable()
export class LogsService {
  constructor(
    private readonly client: ParleyClient,
    private readonly logs: LogsRepository,
    private readonly config: RuntimeConfig,
  ) {}

  /** Idempotent. */
  async write({ lines }: WriteLogs): Promise<object> {
    if (lines.length > 0) await this.logs.insertLines(lines);
    return {};
  }

  async list(caller: WorkspaceCaller, query: GetBotLogs): Promise<BotLogs> {
    await this.client.call(botVisibility.require, caller, { botId: query.id });
    const { rows, nextToken } = await this.logs.listLines(query);
    return { logs: rows.map(toBotLog), nextToken };
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
