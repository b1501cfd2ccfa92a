import { Controller } from '@nestjs/common';
import { registerInstallations, registrations, type RegistrationsPending } from '@parley/contracts/admin/registrations';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import { Consumes } from '@parley/transport/handles';
import { ParleyClient } from '@parley/transport/parley-client';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { integrationRegistrations, toWork } from './registration-queues';

/** Adds the calls of integrations that the installations of a bot wait for. */
@Controller()
export class RegisterInstallationsHandler {
  constructor(
    private readonly client: ParleyClient,
    private readonly work: WorkQueue,
  ) {}

  /** Idempotent: a finished registration is not pending any more. */
  @Consumes(registerInstallations)
  async handle({ botId }: RegistrationsPending): Promise<void> {
    const pending = await this.client.call(registrations.listPending, systemCaller(newId('req')), { botId });
    await this.work.addNow(integrationRegistrations, toWork(botId, pending.registrations));
  }
}
