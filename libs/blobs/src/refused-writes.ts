import { WritesRefused } from '@parley/contracts/errors';

const store = 'The content store';
/** What a file system says that has no room, for anybody or for us, or takes no writes. */
const fileSystemCodes = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);
/** What S3 servers say that have no room, for anybody or in this bucket: MinIO, Ceph, SeaweedFS and Wasabi among them. */
const s3Codes = new Set([
  'InsufficientStorage',
  'NotEnoughSpace',
  'QuotaExceeded',
  'XMinioAdminBucketQuotaExceeded',
  'XMinioStorageFull',
]);

/** WritesRefused for what S3 answered because it has no room; undefined for everything else. */
export function refusalOfS3(status: number, code: string, cause: Error): WritesRefused | undefined {
  return status === 507 || s3Codes.has(code) ? new WritesRefused(store, cause) : undefined;
}

/** Does the writing. Throws WritesRefused, and tells it, when a file system has no room for it. */
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
