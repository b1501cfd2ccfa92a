import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import { Database, type Sql } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { WorkflowEvents } from './workflow-events';
import type { WorkflowEntity } from './workflow.entity';
import { WorkflowsRepository } from './workflows.repository';

const batchSize = 20;

/**
 * Follow-up of ended workflows, and timeouts. The change and its events share one transaction: each event is created
 * exactly once.
 */
@Injectable()
export class EndedWorkflowsService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(
    private readonly database: Database,
    private readonly workflows: WorkflowsRepository,
    private readonly events: WorkflowEvents,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    this.loop = new PollingWorker({ name: 'chat.workflows', intervalMs, logger }, () => this.timeOut());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** Call in the transaction that ended the workflow. */
  async settle(tx: Sql, workflow: WorkflowEntity): Promise<void> {
    await this.events.tellParent(tx, 'child_workflow_finished', workflow);
    if (workflow.conversation_id !== null) await this.workflows.makeAnotherCurrent(tx, workflow);
  }

  private timeOut(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const late = await this.workflows.timeOut(tx, batchSize);
      // Lock order of conversations, to avoid deadlocks between processes.
      late.sort((a, b) => ((a.conversation_id ?? '') < (b.conversation_id ?? '') ? -1 : 1));
      for (const workflow of late) {
        await this.events.tell(tx, 'workflow_timedout', workflow);
        await this.settle(tx, workflow);
      }
      return late.length === batchSize;
    });
  }
}
