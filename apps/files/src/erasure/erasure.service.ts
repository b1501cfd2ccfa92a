import { Inject, Injectable } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import { notFound } from '@parley/contracts/errors';
import type { CountLeftovers, Leftovers } from '@parley/contracts/files';
import { DeletedBotsRepository, hasUnerased } from '../store/deleted-bots.repository';
import { blobStore } from '../store/tokens';
import type { PassageIndex } from '@parley/passages/passage-index';
import { passageIndex } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { type Round, WhenDue } from '@parley/work-queue/worker';
import { isUUID } from 'class-validator';
import { FilesConfig } from '../config';

/** Erases all data of a deleted bot. Idempotent. */
@Injectable()
export class ErasureService {
  constructor(
    private readonly bots: DeletedBotsRepository,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(passageIndex) private readonly index: PassageIndex,
    @Inject(platformToken) private readonly platform: Platform,
    private readonly config: FilesConfig,
  ) {}

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

  /** Resumes the erasure of deleted bots that a crash or a backup interrupted. */
  @WhenDue<ErasureService>({
    name: 'files.erase',
    rows: hasUnerased,
    everyMs: ({ config }) => config.sweepIntervalMs,
  })
  async resume({ signal }: Round): Promise<void> {
    for (const botId of await this.bots.listUnerased()) {
      if (signal.aborted) return;
      await this.erase(botId).catch((error: unknown) =>
        this.platform.logger.warn({ err: error, botId }, 'the erasure of a bot failed, it will be repeated'),
      );
    }
  }

  async countLeftovers({ botId }: CountLeftovers): Promise<Leftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    const [rows, blobs, points] = await Promise.all([
      this.bots.countRows(botId),
      this.blobs.count(botId),
      this.index.count(botId),
    ]);
    return { ...rows, blobs, points };
  }
}
