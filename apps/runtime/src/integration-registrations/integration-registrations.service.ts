import { Injectable } from '@nestjs/common';
import { registrations } from '@parley/contracts/admin/registrations';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { integrationRegistrations, toWork } from './integration-registration-queue';

@Injectable()
export class IntegrationRegistrationsService {
  constructor(
    private readonly client: ParleyClient,
    private readonly work: WorkQueue,
  ) {}

  /** Adds the calls of integrations that the installations of a bot wait for. */
  async start(botId: string): Promise<void> {
    const pending = await this.client.call(registrations.listPending, systemCaller(newId('req')), { botId });
    await this.work.addNow(integrationRegistrations, toWork(botId, pending.registrations));
  }
}
