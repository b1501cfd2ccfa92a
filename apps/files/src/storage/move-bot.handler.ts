import { Controller } from '@nestjs/common';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { type BotTransferred, moveBotInFiles } from '@parley/contracts/admin/bots';
import { StorageUseRepository } from '../store/storage-use.repository';

@Controller()
export class MoveBotHandler {
  constructor(private readonly use: StorageUseRepository) {}

  /** Safe to repeat and in any order: the newest transfer wins. */
  @Consumes(moveBotInFiles)
  async handle({ botId, workspaceId }: BotTransferred, { event }: Delivery): Promise<void> {
    await this.use.moveBot(botId, workspaceId, event.id);
  }
}
