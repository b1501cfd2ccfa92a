import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import { DeletedBotsRepository } from '@parley/file-store/deleted-bots.repository';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';
import { ErasureService } from '../erasure/erasure.service';
import { retryLater } from './retry-later';

/** Resumes the erasure of deleted bots that a crash or a backup interrupted. */
@Injectable()
export class DeletedBotsWorker implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;
  private isStopping = false;

  constructor(
    private readonly bots: DeletedBotsRepository,
    private readonly erasure: ErasureService,
    @Inject(platformToken) private readonly platform: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    this.loop = new PollingWorker({ name: 'files.erase', intervalMs, logger: platform.logger }, () => this.erase());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  private async erase(): Promise<boolean> {
    for (const botId of await this.bots.listUnerased()) {
      if (this.isStopping) break;
      await retryLater(this.platform.logger, botId, () => this.erasure.erase(botId));
    }
    return false;
  }
}
