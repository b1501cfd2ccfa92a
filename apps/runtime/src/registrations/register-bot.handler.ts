import { Controller } from '@nestjs/common';
import { type BotTargetChanged, registerBot } from '@parley/contracts/admin/targets';
import { Consumes } from '@parley/transport/handles';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { registrations } from './registration-queues';

@Controller()
export class RegisterBotHandler {
  constructor(private readonly work: WorkQueue) {}

  /** Repeats are harmless: bots expect several calls of `register`. */
  @Consumes(registerBot)
  async handle({ botId, isDeployed, isCalled }: BotTargetChanged): Promise<void> {
    if (isDeployed && isCalled) await this.work.addNow(registrations, [{ key: botId, tenant: botId, payload: null }]);
  }
}
