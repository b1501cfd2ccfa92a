import { requirePermission, type WorkspaceCaller } from '@parley/contracts/access';

/** Throws Forbidden unless the caller's role may change published entries. Changes of drafts do not need it. */
export function requirePublisher({ role }: WorkspaceCaller): void {
  if (role) requirePermission(role, 'manage');
}
