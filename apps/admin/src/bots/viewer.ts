import { hasPermission, type WorkspaceCaller } from '@parley/contracts/access';

/** Whose view of the bots of a workspace it is. */
export interface Viewer {
  workspaceId: string;
  /** Who sees a bot for selected users only when selected; `null` for who sees every bot. */
  accountId: string | null;
}

/** Managers and up see every bot. So does a key, whose own bot is all that it may ask for. */
export function viewerOf({ workspace, role, account }: WorkspaceCaller): Viewer {
  const isLimited = role !== undefined && account !== undefined && !hasPermission(role, 'manage');
  return { workspaceId: workspace.id, accountId: isLimited ? account.id : null };
}
