import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { BlobStore } from '@parley/blobs/blob-store';
import { blobStore } from '@parley/file-store/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';

const intervalMs = 600_000;

/** Removes partial blobs that crashed uploads left in the blob store. */
@Injectable()
export class AbandonedBlobsWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(platformToken) { logger }: Platform,
  ) {
    this.loop = new PollingWorker({ name: 'files.clearBlobs', intervalMs, logger }, () => this.clear());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  private async clear(): Promise<boolean> {
    await this.blobs.removeAbandoned();
    return false;
  }
}
