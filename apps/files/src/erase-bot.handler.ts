import { Inject, Injectable } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { type BotDeleted, eraseBotInFiles } from '@parley/contracts/admin/bots';
import { DeletedBotsRepository } from '@parley/file-store/deleted-bots.repository';
import { blobStore } from '@parley/file-store/tokens';
import { Inbox } from '@parley/outbox/inbox';
import type { PassageIndex } from '@parley/passages/passage-index';
import { passageIndex } from '@parley/passages/tokens';

/** Erases all data of a deleted bot. Idempotent. */
@Injectable()
export class EraseBotHandler {
  constructor(
    private readonly bots: DeletedBotsRepository,
    private readonly inbox: Inbox,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(passageIndex) private readonly index: PassageIndex,
  ) {}

  @Consumes(eraseBotInFiles)
  async handle({ botId }: BotDeleted, { event }: Delivery): Promise<void> {
    await this.inbox.once(eraseBotInFiles.name, event.id, (tx) => this.bots.add(tx, botId));
    await this.erase(botId);
  }

  /**
   * Rows first: content without a row is out of reach at once. While a backup copies contents, the sweeper erases them
   * later.
   */
  async erase(botId: string): Promise<void> {
    await this.bots.eraseRows(botId);
    await this.index.dropTenant(botId);
    if (!(await this.bots.mayRemoveContent())) return;
    await this.blobs.deletePrefix(botId);
    await this.bots.markErased(botId);
  }
}
