import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { EndedWorkflowsService } from '../workflows/ended-workflows.service';

const workflowsAtOnce = 20;

/** Ends workflows whose timeout has passed. Safe to run in several processes. */
@Injectable()
export class WorkflowTimeoutsWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(
    ended: EndedWorkflowsService,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    this.loop = new PollingWorker(
      { name: 'chat.workflows', intervalMs, logger },
      async () => (await ended.timeOut(workflowsAtOnce)) === workflowsAtOnce,
    );
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
