import { Controller } from '@nestjs/common';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { type BotDeleted, eraseBotInFiles } from '@parley/contracts/admin/bots';
import { DeletedBotsRepository } from '../store/deleted-bots.repository';
import { Inbox } from '@parley/events/inbox';
import { ErasureService } from './erasure.service';

/** Idempotent: the inbox deduplicates events, and erasing removes the remaining data. */
@Controller()
export class EraseBotHandler {
  constructor(
    private readonly bots: DeletedBotsRepository,
    private readonly inbox: Inbox,
    private readonly erasure: ErasureService,
  ) {}

  @Consumes(eraseBotInFiles)
  async handle({ botId }: BotDeleted, { event }: Delivery): Promise<void> {
    await this.inbox.once(eraseBotInFiles.name, event.id, (tx) => this.bots.insertDeletedBot(tx, botId));
    await this.erasure.erase(botId);
  }
}
