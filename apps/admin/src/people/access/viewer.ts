import { hasPermission, type WorkspaceCaller } from '@parley/contracts/access';

export interface Viewer {
  workspaceId: string;
  /** Account that sees bots for selected users only when it is selected; `null` when the caller sees every bot. */
  accountId: string | null;
}

/** Managers and higher roles see every bot. Bot keys are not restricted here: they are limited to their own bot. */
export function viewerOf({ workspace, role, account }: WorkspaceCaller): Viewer {
  const isLimited = role !== undefined && account !== undefined && !hasPermission(role, 'manage');
  return { workspaceId: workspace.id, accountId: isLimited ? account.id : null };
}
