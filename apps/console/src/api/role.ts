import { useQuery } from '@tanstack/react-query';
import { hasPermission, type Permission } from '@parley/contracts/access';
import { memberQuery } from './queries';

/** Whether the signed-in person has the permission in the workspace; false until the role is known. */
export function useCan(workspaceId: string, permission: Permission): boolean {
  const { data } = useQuery(memberQuery(workspaceId));
  return data !== undefined && hasPermission(data.role, permission);
}
