import { type NewWork, queue } from '@parley/work-queue/queue';
import type { FileRef } from './file.entity';

/** Files that may have blobs, passages or points that they no longer need, or points with old tags. */
export const cleanupQueue = queue<FileRef>('files.cleanup', { repeated: 'again' });

/** Files whose points have old tags. Unlike cleanups, they wait neither for backups nor for the blob store. */
export const retagQueue = queue<FileRef>('files.retag', { repeated: 'again' });

/** Without duplicates, and sorted, so that two transactions cannot deadlock. */
export function cleanupsOf(...files: FileRef[]): NewWork<FileRef>[] {
  const byId = new Map(files.map(({ botId, fileId }) => [fileId, { botId, fileId }]));
  return [...byId]
    .map(([key, payload]) => ({ key, tenant: payload.botId, payload }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}
