import { Inject, Injectable } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import { blobStore } from '@parley/file-store/tokens';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';

const intervalMs = 600_000;

/** Removes partial blobs that crashed uploads left in the blob store. */
@Injectable()
export class AbandonedBlobsWorker extends BackgroundWorker {
  constructor(
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(platformToken) { logger }: Platform,
  ) {
    super({ name: 'files.clearBlobs', intervalMs, logger });
  }

  protected async round(): Promise<boolean> {
    await this.blobs.removeAbandoned();
    return false;
  }
}
