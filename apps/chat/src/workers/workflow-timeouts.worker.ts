import { Inject, Injectable } from '@nestjs/common';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { EndedWorkflowsService } from '../workflows/ended-workflows.service';

const workflowsAtOnce = 20;

/** Ends workflows whose timeout has passed. Safe to run in several processes. */
@Injectable()
export class WorkflowTimeoutsWorker extends BackgroundWorker {
  constructor(
    private readonly ended: EndedWorkflowsService,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    super({ name: 'chat.workflows', intervalMs, logger });
  }

  protected async round(): Promise<boolean> {
    return (await this.ended.timeOut(workflowsAtOnce)) === workflowsAtOnce;
  }
}
