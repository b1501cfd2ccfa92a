import type { BlobStore } from '@parley/blobs/blob-store';
import { FolderBlobs } from '@parley/blobs/folder-blobs';
import type { S3BlobsOptions } from '@parley/blobs/s3-blobs';
import { ConfigError } from '@parley/config/config';
import type { FileStoreConfig } from './config';

/**
 * Configured blob store, ready for use. Throws ConfigError when a setting is missing.
 * @param onWritesRefused called for each write that the store had no room for
 */
export async function openBlobs(config: FileStoreConfig, onWritesRefused?: () => void): Promise<BlobStore> {
  const blobs = await choose(config, onWritesRefused);
  await blobs.ready();
  return blobs;
}

async function choose(config: FileStoreConfig, onWritesRefused?: () => void): Promise<BlobStore> {
  const { s3Bucket: bucket, blobsDir } = config;
  if (!bucket) {
    const folder = given(blobsDir, 'BLOBS_DIR is missing: it must be a folder, unless S3_BUCKET is set.');
    return new FolderBlobs(folder, onWritesRefused);
  }
  const options = { ...s3Options(bucket, config), onWritesRefused };
  // Lazy import: loading it takes 20 MB and a tenth of a second.
  const { S3Blobs } = await import('@parley/blobs/s3-blobs');
  return new S3Blobs(options);
}

function s3Options(bucket: string, config: FileStoreConfig): S3BlobsOptions {
  const { s3Endpoint: endpoint, s3Region: region, s3AccessKeyId, s3SecretAccessKey, s3PathStyle } = config;
  return {
    bucket,
    region,
    endpoint,
    prefix: config.s3Prefix,
    pathStyle: s3PathStyle === undefined ? endpoint !== undefined : s3PathStyle === 'true',
    credentials:
      s3AccessKeyId || s3SecretAccessKey
        ? {
            accessKeyId: given(s3AccessKeyId, 'S3_ACCESS_KEY_ID is missing: S3_SECRET_ACCESS_KEY is set.'),
            secretAccessKey: given(s3SecretAccessKey, 'S3_SECRET_ACCESS_KEY is missing: S3_ACCESS_KEY_ID is set.'),
          }
        : undefined,
  };
}

function given(value: string | undefined, problem: string): string {
  if (!value) throw new ConfigError([problem]);
  return value;
}
