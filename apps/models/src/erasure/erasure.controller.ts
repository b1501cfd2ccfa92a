import { Controller } from '@nestjs/common';
import { type BotDeleted, eraseBotInModels } from '@parley/contracts/admin/bots';
import type { Caller } from '@parley/contracts/caller';
import type { CountModelLeftovers } from '@parley/contracts/models/leftovers';
import { models } from '@parley/contracts/models/models';
import { Consumes, Handles } from '@parley/transport/handles';
import { ErasureService } from './erasure.service';

@Controller()
export class ErasureController {
  constructor(private readonly erasure: ErasureService) {}

  @Consumes(eraseBotInModels)
  async erase(deleted: BotDeleted): Promise<void> {
    await this.erasure.erase(deleted);
  }

  @Handles(models.countLeftovers)
  countLeftovers(_caller: Caller, { botId }: CountModelLeftovers) {
    return this.erasure.count(botId);
  }
}
