import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { registrations, registrationWaitMs } from '@parley/contracts/admin/registrations';
import { systemCaller } from '@parley/contracts/caller';
import type { RunRegistrations } from '@parley/contracts/runtime/registrations';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { integrationRegistrations, toWork } from './integration-registration-queue';

const [minPauseMs, maxPauseMs] = [25, 250];

@Injectable()
export class IntegrationRegistrationsService {
  constructor(
    private readonly client: ParleyClient,
    private readonly work: WorkQueue,
  ) {}

  /** Returns the number of installations to register. Those to unregister are not counted. */
  async start(botId: string): Promise<number> {
    const pending = await this.listPending(botId);
    await this.work.addNow(integrationRegistrations, toWork(botId, pending));
    return pending.filter(({ kind }) => kind === 'register').length;
  }

  /** Resolves when all installations of the bot have an outcome, and after 20 s. */
  async run({ botId }: RunRegistrations): Promise<object> {
    const endsAt = performance.now() + registrationWaitMs;
    let count = await this.start(botId);
    for (
      let pauseMs = minPauseMs;
      count > 0 && performance.now() < endsAt;
      pauseMs = Math.min(2 * pauseMs, maxPauseMs)
    ) {
      await sleep(pauseMs);
      count = (await this.listPending(botId)).filter(({ kind }) => kind === 'register').length;
    }
    return {};
  }

  private async listPending(botId: string) {
    return (await this.client.call(registrations.listPending, systemCaller(newId('req')), { botId })).registrations;
  }
}
