import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';
import { hasWords, matchingPage, type PageOf } from '../api/matching-page';

export const kinds = ['integrations', 'interfaces', 'plugins'] as const;
export type Kind = (typeof kinds)[number];

export const sources = [
  { value: 'public', label: 'Public' },
  { value: 'workspace', label: 'This workspace' },
] as const;
export type Source = (typeof sources)[number]['value'];

export interface Shelf {
  workspaceId: string;
  kind: Kind;
  source: Source;
}

/** Version of an integration, an interface or a plugin. */
export interface Entry {
  id: string;
  name: string;
  version: string;
  createdAt: string;
  updatedAt: string;
  title?: string;
  description?: string;
  iconUrl?: string;
  visibility?: string;
  verificationStatus?: string;
  lifecycleStatus?: string;
  ownerWorkspace?: { name: string };
  meta?: { installs?: number; views?: number };
}

/** Version with its definition; the parts that its kind does not have are absent. */
export interface Publication extends Entry {
  readmeUrl?: string;
  configuration?: { schema?: object };
  configurations?: Record<string, { title?: string; description?: string; schema?: object }>;
  actions?: Record<string, Described>;
  events?: Record<string, Described>;
  channels?: Record<string, Described>;
  entities?: Record<string, Described>;
  interfaces?: Record<string, { name: string; version: string }>;
  dependencies?: Record<'interfaces' | 'integrations', Record<string, { name: string; version: string }>>;
}

interface Described {
  title?: string;
  description?: string;
}

interface ListInput {
  name?: string;
  nextToken?: string;
  search?: string;
}

const pageSize = 50;

/** Versions by page; of public integrations, the highest version of each name. */
export const entriesQuery = (shelf: Shelf, search: string) =>
  infiniteQueryOptions({
    queryKey: ['hub', shelf, search],
    queryFn: ({ pageParam }): Promise<PageOf<Entry>> => {
      // The platform searches in integrations only.
      const isSearched = shelf.kind === 'integrations';
      const list = (nextToken?: string) =>
        listEntries(shelf, { nextToken, search: isSearched && search !== '' ? search : undefined });
      const isMatch = ({ name, title, description }: Entry) =>
        isSearched || hasWords([name, title, description], search);
      return matchingPage(list, isMatch, pageParam);
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextToken }) => nextToken,
  });

export const publicationQuery = (shelf: Shelf, id: string) =>
  queryOptions({ queryKey: ['hub', shelf, 'one', id], queryFn: () => getPublication(shelf, id) });

/** All versions of a name. */
export const versionsQuery = (shelf: Shelf, name: string) =>
  queryOptions({
    queryKey: ['hub', shelf, 'versions', name],
    queryFn: async () => (await listEntries(shelf, { name })).items,
  });

async function listEntries({ workspaceId, kind, source }: Shelf, input: ListInput): Promise<PageOf<Entry>> {
  const client = clientOf({ workspaceId });
  const isPublic = source === 'public';
  const { search: _notSupported, ...query } = { ...input, pageSize };
  switch (kind) {
    case 'integrations': {
      const listed = { ...input, pageSize };
      const { integrations, meta } = isPublic
        ? await client.listPublicIntegrations(listed)
        : await client.listIntegrations(listed);
      return { items: integrations, nextToken: meta.nextToken };
    }
    case 'interfaces': {
      const { interfaces, meta } = isPublic
        ? await client.listPublicInterfaces(query)
        : await client.listInterfaces(query);
      return { items: interfaces, nextToken: meta.nextToken };
    }
    case 'plugins': {
      const { plugins, meta } = isPublic ? await client.listPublicPlugins(query) : await client.listPlugins(query);
      return { items: plugins, nextToken: meta.nextToken };
    }
  }
}

async function getPublication({ workspaceId, kind, source }: Shelf, id: string): Promise<Publication> {
  const client = clientOf({ workspaceId });
  const isPublic = source === 'public';
  switch (kind) {
    case 'integrations':
      return (await (isPublic ? client.getPublicIntegrationById({ id }) : client.getIntegration({ id }))).integration;
    case 'interfaces':
      return (await (isPublic ? client.getPublicInterfaceById({ id }) : client.getInterface({ id }))).interface;
    case 'plugins':
      return (await (isPublic ? client.getPublicPluginById({ id }) : client.getPlugin({ id }))).plugin;
  }
}
