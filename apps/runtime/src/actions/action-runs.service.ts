import { Injectable, Logger } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { botVisibility } from '@parley/contracts/admin/bot-visibility';
import type { ActionRuns, CallAction, ListActionRuns } from '@parley/contracts/runtime/actions';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import { Every } from '@parley/work-queue/worker';
import { RuntimeConfig } from '../config';
import { toActionRun } from './action-run.entity';
import { ActionRunsRepository } from './action-runs.repository';
import { truncated } from './truncated';

const cleanMs = 60 * 60_000;
const maxErrorLength = 1_000;

export interface FinishedAction extends CallAction {
  botId: string;
  integrationName: string | null;
  startedAt: Date;
  durationMs: number;
  /** Null after a failure. */
  output: Record<string, unknown> | null;
  /** Null after a success. */
  error: string | null;
}

@Injectable()
export class ActionRunsService {
  private readonly logger = new Logger(ActionRunsService.name);

  constructor(
    private readonly client: ParleyClient,
    private readonly runs: ActionRunsRepository,
    private readonly config: RuntimeConfig,
  ) {}

  /** Never throws: the action has been done, and a caller that got an error would call it again. */
  async record({ botId, integrationName, type, startedAt, durationMs, error, ...action }: FinishedAction) {
    const input = truncated(action.input);
    const output = action.output && truncated(action.output);
    try {
      await this.runs.insertRun({
        bot_id: botId,
        id: newId('run'),
        integration_name: integrationName,
        type,
        input: input.value,
        input_truncated: input.isTruncated,
        output: output && output.value,
        output_truncated: output?.isTruncated ?? false,
        duration_ms: durationMs,
        error: error && error.slice(0, maxErrorLength),
        created_at: startedAt.toISOString(),
      });
    } catch (failure) {
      this.logger.warn(`The run of an action of the bot ${botId} was not recorded: ${String(failure)}`);
    }
  }

  async list(caller: WorkspaceCaller, query: ListActionRuns): Promise<ActionRuns> {
    await this.client.call(botVisibility.require, caller, { botId: query.id });
    const { rows, nextToken } = await this.runs.listRuns(query);
    return { data: rows.map(toActionRun), meta: { nextToken } };
  }

  /** Safe to run in several processes. */
  @Every({ name: 'runtime.actionRunRetention', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.runs.deleteBefore(this.config.deliveryRetentionDays);
  }
}
