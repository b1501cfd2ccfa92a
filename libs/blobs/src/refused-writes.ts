import { WritesRefused } from '@parley/contracts/errors';

const store = 'The content store';
const fileSystemCodes = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);
/** Errors of S3 servers that are full, or whose bucket is over its quota: MinIO, Ceph, SeaweedFS and Wasabi among them. */
const s3Codes = new Set([
  'InsufficientStorage',
  'NotEnoughSpace',
  'QuotaExceeded',
  'XMinioAdminBucketQuotaExceeded',
  'XMinioStorageFull',
]);

export function refusalOfS3(status: number, code: string, cause: Error): WritesRefused | undefined {
  return status === 507 || s3Codes.has(code) ? new WritesRefused(store, cause) : undefined;
}

/** Runs the write. Throws WritesRefused, and calls `tell`, when the store is full or read-only. */
export async function tellingRefusals<T>(write: () => Promise<T>, tell?: () => void): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const known = fileSystemCodes.has((error as NodeJS.ErrnoException).code ?? '')
      ? new WritesRefused(store, error)
      : error;
    if (known instanceof WritesRefused) tell?.();
    throw known;
  }
}
