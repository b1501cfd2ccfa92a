import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { ShownProgress } from '@parley/contracts/progress-text';
import { pathOf, queryOf, request } from '../api/request';
import type { Delivery } from '../events/queries';

export const maxListed = 100;
const liveMs = 5_000;

export const services = ['admin', 'chat', 'files', 'hub', 'models', 'runtime', 'tables'];
export const workStates = ['failed', 'ready', 'waiting', 'queued', 'parked', 'running'] as const;

export interface Work {
  service: string;
  queue: string;
  key: string;
  tenant: string;
  state: (typeof workStates)[number];
  attempts: number;
  lastError: string | null;
  dueAt: string | null;
  createdAt: string;
  worker: string | null;
  /** It can be listed only. */
  isDueRow: boolean;
  /** JSON text, of one piece of work that was asked for by its key. */
  payload?: string;
}

export interface WorkFilters {
  /** All services when absent. */
  service?: string;
  state?: string;
  queue?: string;
}

type NamedWork = Pick<Work, 'service' | 'queue' | 'key'>;

export const workKey = ['operator', 'work'];

/** Oldest first. */
export const workQuery = ({ service, ...filters }: WorkFilters) =>
  queryOptions({
    queryKey: [...workKey, service, filters],
    queryFn: async () => {
      const asked = service === undefined ? services : [service];
      const lists = await Promise.all(asked.map((each) => listWork(each, { ...filters, limit: maxListed + 1 })));
      return lists.flat().sort((one, other) => one.createdAt.localeCompare(other.createdAt));
    },
    refetchInterval: liveMs,
  });

/** Null for work that has ended. */
export const oneWorkQuery = ({ service, queue, key }: NamedWork) =>
  queryOptions({
    queryKey: [...workKey, service, queue, key],
    queryFn: async () => (await listWork(service, { queue, key }))[0] ?? null,
  });

/** Oldest first. */
export async function listWork(service: string, filters: Record<string, string | number | undefined>): Promise<Work[]> {
  const path = `/operator/${service}/work${queryOf(filters)}`;
  const { work } = await request<{ work: Omit<Work, 'service'>[] }>({ path });
  return work.map((each) => ({ ...each, service }));
}

/** One piece of work, or all failed work of a queue. */
export function retryWork({ service, queue, key }: Omit<NamedWork, 'key'> & { key?: string }): Promise<unknown> {
  return request({ method: 'POST', path: `/operator/${service}/work/retry`, body: { queue, key } });
}

export function discardWork({ service, queue, key }: NamedWork): Promise<unknown> {
  return request({ method: 'DELETE', path: `/operator/${service}/work/${pathOf`${queue}/${key}`}` });
}

export interface DeadLetter {
  id: string;
  consumer: string;
  subject: string;
  reason: string;
  attempts: number;
  createdAt: string;
}

export const lettersKey = ['operator', 'dead-letters'];

/** Dead letters of all services, newest first. */
export const lettersQuery = queryOptions({
  queryKey: lettersKey,
  queryFn: async () => {
    const lists = await Promise.all(
      services.map(async (service) => {
        const path = `/operator/${service}/dead-letters${queryOf({ limit: maxListed })}`;
        const { deadLetters } = await request<{ deadLetters: DeadLetter[] }>({ path });
        return deadLetters.map((letter) => ({ ...letter, service }));
      }),
    );
    return lists.flat().sort((one, other) => other.createdAt.localeCompare(one.createdAt));
  },
  refetchInterval: liveMs,
});

export function replayLetters(service: string, id?: string): Promise<unknown> {
  return request({ method: 'POST', path: `/operator/${service}/dead-letters/replay`, body: { id } });
}

export const deliveryStatuses = ['failed', 'ignored', 'parked', 'pending', 'processed'] as const;

export const deliveriesKey = (botId: string) => ['operator', 'deliveries', botId];

export const deliveriesQuery = (botId: string, status?: string) =>
  infiniteQueryOptions({
    queryKey: [...deliveriesKey(botId), status],
    queryFn: ({ pageParam }) =>
      request<{ deliveries: (Delivery & { eventId: string; type: string })[]; meta: { nextToken?: string } }>({
        path: `${pathOf`/operator/runtime/bots/${botId}/deliveries`}${queryOf({ status, nextToken: pageParam })}`,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
    enabled: botId !== '',
  });

/** One event, or those with a status. */
export function replayEvents(botId: string, which: { eventId: string } | { status: string }): Promise<unknown> {
  return request({ method: 'POST', path: pathOf`/operator/chat/bots/${botId}/events/replay`, body: which });
}

export interface FailedFile {
  fileId: string;
  key: string;
  botId: string;
  reason: string;
  failedAt: string;
}

export interface StuckFile extends ShownProgress {
  fileId: string;
  key: string;
  botId: string;
  attempts: number;
  lastError?: string;
  ageSeconds: number;
}

export const indexingKey = ['operator', 'indexing'];

export const failedFilesQuery = indexingQuery<FailedFile>('failed');
export const stuckFilesQuery = indexingQuery<StuckFile>('stuck');

function indexingQuery<T>(list: 'failed' | 'stuck') {
  return infiniteQueryOptions({
    queryKey: [...indexingKey, list],
    queryFn: ({ pageParam }) =>
      request<{ files: T[]; meta: { nextToken?: string } }>({
        path: `/operator/files/${list}${queryOf({ nextToken: pageParam })}`,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
  });
}

/** Throws an error with the reason for which the file is not indexed again. */
export async function retryFile(fileId: string): Promise<void> {
  const { refused } = await request<{ refused: { reason: string }[] }>({
    ...{ method: 'POST', path: '/operator/files/retry' },
    body: { fileIds: [fileId] },
  });
  if (refused[0]) throw new Error(refused[0].reason);
}

export interface ModelSettings {
  name: string;
  upstream?: string;
  [field: string]: unknown;
}

export interface ProviderSettings {
  url: string;
  models?: ModelSettings[];
  roles?: Record<string, string>;
  timeoutMs?: number;
  concurrency?: number;
  rate?: number;
  limitField?: string;
}

export interface Provider extends ProviderSettings {
  name: string;
  source: 'operator' | 'configuration';
  hasKey: boolean;
  state: string;
  failingSince: string | null;
  lastError: string | null;
  lastErrorAt: string | null;
  foundModels: string[];
}

export interface ProviderTest {
  models?: string[];
  missing: string[];
  error?: string;
  latencyMs: number;
}

const providersPath = '/operator/models/providers';
export const providersKey = ['operator', 'providers'];

/** Providers of language models, in order of fallback. */
export const providersQuery = queryOptions({
  queryKey: providersKey,
  queryFn: async () => (await request<{ providers: Provider[] }>({ path: providersPath })).providers,
  refetchInterval: liveMs,
});

/** Without a key the stored one stays; `null` removes it. */
export function putProvider(name: string, settings: ProviderSettings & { key?: string | null }): Promise<unknown> {
  return request({ method: 'PUT', path: `${providersPath}/${pathOf`${name}`}`, body: settings });
}

export function deleteProvider(name: string): Promise<unknown> {
  return request({ method: 'DELETE', path: `${providersPath}/${pathOf`${name}`}` });
}

export function reorderProviders(names: string[]): Promise<unknown> {
  return request({ method: 'POST', path: `${providersPath}/order`, body: { names } });
}

export function testProvider(name: string): Promise<ProviderTest> {
  return request({ method: 'POST', path: `${providersPath}/${pathOf`${name}`}/test`, body: {} });
}
