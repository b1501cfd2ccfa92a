import { Inject, Injectable } from '@nestjs/common';
import { DeletedBotsRepository } from '@parley/file-store/deleted-bots.repository';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';
import { ErasureService } from '../erasure/erasure.service';
import { retryLater } from './retry-later';

/** Resumes the erasure of deleted bots that a crash or a backup interrupted. */
@Injectable()
export class DeletedBotsWorker extends BackgroundWorker {
  constructor(
    private readonly bots: DeletedBotsRepository,
    private readonly erasure: ErasureService,
    @Inject(platformToken) private readonly platform: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    super({ name: 'files.erase', intervalMs, logger: platform.logger });
  }

  protected async round(): Promise<boolean> {
    for (const botId of await this.bots.listUnerased()) {
      if (this.isStopping) break;
      await retryLater(this.platform.logger, botId, () => this.erasure.erase(botId));
    }
    return false;
  }
}
