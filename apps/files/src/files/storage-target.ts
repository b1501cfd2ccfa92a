import type { BotCaller } from '@parley/contracts/access';
import type { CallerQuotas } from '@parley/contracts/caller';
import { type FileScope, fileScopeOf } from '../store/file-scope';

/** Owner of a new file, and the workspace whose quotas it uses. */
export interface StorageTarget {
  scope: FileScope;
  workspaceId: string;
  quotas?: CallerQuotas;
}

export function storageTargetOf(caller: BotCaller): StorageTarget {
  return { scope: fileScopeOf(caller), workspaceId: caller.workspace.id, quotas: caller.quotas };
}
