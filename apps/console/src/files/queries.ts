import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { Client, File } from '@botpress/client';
import type { ShownProgress } from '@parley/contracts/progress-text';
import { type KeptRun, lastRunKey, parseQuestions, questionsKey } from '@parley/contracts/search-evaluation';
import { apiErrorOf } from '../api/api-error';
import { clientOf } from '../api/client';
import { pathOf, request } from '../api/request';
import { safeUrl } from '../parts/safe-url';

/** Fields that Parley adds to a file. */
export type ShownFile = File & {
  indexing?: ShownProgress & { attempts: number; lastError?: string };
};

/** With the field that Parley adds: see docs/search.md. */
type Found = Awaited<ReturnType<Client['searchFiles']>> & { isCalibrated?: boolean; leastScore?: number };

const busyMs = 1_000;
const unfinished = ['upload_pending', 'upload_completed', 'indexing_pending'];

export const filesKey = (botId: string) => [botId, 'files'];

function isIndexing({ status, index }: ShownFile): boolean {
  return index && unfinished.includes(status);
}

/** Whether the indexing of the file has ended, so that it can be repeated. */
export function isIndexed({ status, index }: ShownFile): boolean {
  return index && !unfinished.includes(status);
}

export function indexAgain(botId: string, id: string): Promise<unknown> {
  return request({ botId, method: 'PUT', path: pathOf`/v1/files/${id}/indexing`, body: {} });
}

/** Files, the newest first. Asked for again every second while one of them is uploaded or indexed. */
export const filesQuery = (botId: string) =>
  infiniteQueryOptions({
    queryKey: filesKey(botId),
    queryFn: ({ pageParam }) =>
      clientOf({ botId }).listFiles({ sortField: 'createdAt', sortDirection: 'desc', nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
    refetchInterval: ({ state }) => (state.data?.pages.some(({ files }) => files.some(isIndexing)) ? busyMs : false),
  });

export const fileQuery = (botId: string, id: string) =>
  queryOptions({
    queryKey: [botId, 'files', id],
    queryFn: async (): Promise<ShownFile> => (await clientOf({ botId }).getFile({ id })).file,
    refetchInterval: ({ state }) => (state.data && isIndexing(state.data) ? busyMs : false),
  });

export const maxTextBytes = 1_000_000;

const textTypes = /^text\/|\b(json|xml|yaml)\b/;

/** Whether the content of the file is text, and is there. */
export function hasText({ contentType, url }: ShownFile): boolean {
  return textTypes.test(contentType) && safeUrl(url) !== undefined;
}

/** Content of the current version, whose signed address needs no credential. */
export const textQuery = ({ id, url, updatedAt }: ShownFile) =>
  queryOptions({
    queryKey: ['files', id, 'text', updatedAt],
    queryFn: () => readText(url),
  });

async function readText(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The content was refused with HTTP status ${response.status}.`);
  return response.text();
}

/** Questions of the bot and its last run, each if there is one. */
export const evaluationQuery = (botId: string) =>
  queryOptions({
    queryKey: [botId, 'evaluation'],
    queryFn: async () => {
      const [questions, run] = await Promise.all([readKept(botId, questionsKey), readKept(botId, lastRunKey)]);
      return {
        questions: questions === undefined ? undefined : parseQuestions(questions),
        run: run === undefined ? undefined : (JSON.parse(run) as KeptRun),
      };
    },
  });

/** Text of a file; undefined when the bot has none with this key. */
async function readKept(botId: string, key: string): Promise<string | undefined> {
  try {
    const { file } = await clientOf({ botId }).getFile({ id: key });
    return await readText(file.url);
  } catch (error) {
    if (apiErrorOf(error).code !== 404) throw error;
    return undefined;
  }
}

export const passagesQuery = (botId: string, id: string) =>
  infiniteQueryOptions({
    queryKey: [botId, 'files', id, 'passages'],
    queryFn: ({ pageParam }) => clientOf({ botId }).listFilePassages({ id, nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
  });

export type SearchInput = Parameters<Client['searchFiles']>[0];

export const searchQuery = (botId: string, input: SearchInput) =>
  queryOptions({
    queryKey: [botId, 'search', input],
    queryFn: async () => {
      const found: Found = await clientOf({ botId }).searchFiles(input);
      return found;
    },
    enabled: input.query !== '',
  });
