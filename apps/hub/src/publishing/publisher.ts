import { requirePermission, type WorkspaceCaller } from '@parley/contracts/access';

/** Throws Forbidden unless the caller may change what others see; drafts take no more than the operation itself asks for. */
export function requirePublisher({ role }: WorkspaceCaller): void {
  if (role) requirePermission(role, 'manage');
}
