import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { Client } from '@botpress/client';
import { clientOf } from '../api/client';
import { hasWords, matchingPage, type PageOf } from '../api/matching-page';

const pageSize = 50;

export const membersKey = (workspaceId: string) => [workspaceId, 'members'];

export const membersQuery = (workspaceId: string) =>
  infiniteQueryOptions({
    queryKey: membersKey(workspaceId),
    queryFn: ({ pageParam }) => clientOf({ workspaceId }).listWorkspaceMembers({ pageSize, nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
  });

export const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: async () => (await clientOf().listPersonalAccessTokens({})).pats,
});

/** Record with the fields that Parley adds. */
export type AuditRecord = Awaited<ReturnType<Client['getAuditRecords']>>['records'][number] & {
  operation?: string;
  address?: string | null;
};

export interface AuditFilters {
  /** Operation of the platform, such as `admin.members.create`. */
  operation?: string;
  words?: string;
}

/** Changes, the newest first. */
export const auditQuery = (workspaceId: string, { operation = '', words = '' }: AuditFilters) =>
  infiniteQueryOptions({
    queryKey: [workspaceId, 'audit', operation, words],
    queryFn: ({ pageParam }) => {
      const list = async (nextToken?: string): Promise<PageOf<AuditRecord>> => {
        const { records, meta } = await clientOf({ workspaceId }).getAuditRecords({ id: workspaceId, nextToken });
        return { items: records, nextToken: meta.nextToken };
      };
      const isMatch = (record: AuditRecord) =>
        hasWords([record.operation, record.action], operation) &&
        hasWords([record.userEmail, record.resourceName, record.resourceId, record.value, record.address], words);
      return matchingPage(list, isMatch, pageParam);
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextToken }) => nextToken,
  });
