import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Loop } from '@parley/background/loop';
import { Database, type Sql } from '@parley/database/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { WorkflowEvents } from './workflow-events';
import type { WorkflowRow } from './workflow.entity';
import { WorkflowsRepository } from './workflows.repository';

const batchSize = 20;

/**
 * What follows when a workflow ends, and the end of those whose time is over. That and its events are one transaction, so
 * that each is told once, whatever is killed.
 */
@Injectable()
export class EndedWorkflowsService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: Loop;

  constructor(
    private readonly database: Database,
    private readonly workflows: WorkflowsRepository,
    private readonly events: WorkflowEvents,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    this.loop = new Loop({ name: 'chat.workflows', intervalMs, logger }, () => this.timeOut());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** In the transaction in which the workflow has ended. */
  async settle(tx: Sql, workflow: WorkflowRow): Promise<void> {
    await this.events.tellParent(tx, 'child_workflow_finished', workflow);
    if (workflow.conversation_id !== null) await this.workflows.makeAnotherCurrent(tx, workflow);
  }

  private timeOut(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const late = await this.workflows.timeOut(tx, batchSize);
      // In one order for all who hold several conversations.
      late.sort((a, b) => ((a.conversation_id ?? '') < (b.conversation_id ?? '') ? -1 : 1));
      for (const workflow of late) {
        await this.events.tell(tx, 'workflow_timedout', workflow);
        await this.settle(tx, workflow);
      }
      return late.length === batchSize;
    });
  }
}
