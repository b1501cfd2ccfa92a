import type { Client } from 'pg';
import { patientFetch } from './patient-fetch';

export interface KeptVector {
  /** Embedding model: each has its own vectors. */
  model: string;
  botId: string;
  passageId: string;
  fileId: string;
  contentVersion: string;
}

export interface Qdrant {
  url: string;
  apiKey?: string;
  /** Name prefix of the collections that belong to the checked platform. */
  collections: string;
}

interface ScrolledPoint {
  payload?: KeptPassage | null;
}

const pointsPerPage = 1_000;
/** Tenants in the same collections that hold rows of tables. */
const isOfTable = /^tables:/;

export async function vectorsInPostgres(database: Client): Promise<KeptVector[]> {
  const { rows } = await database.query<KeptVector>(
    `SELECT model, bot_id AS "botId", id AS "passageId", file_id AS "fileId", content_version AS "contentVersion"
     FROM files.local_index_point`,
  );
  return rows;
}

/** Vectors of files in Qdrant, read page by page through its HTTP API. */
export async function vectorsInQdrant(qdrant: Qdrant): Promise<KeptVector[]> {
  const { collections } = await askQdrant<{ collections: { name: string }[] }>(qdrant, 'GET', '/collections');
  const names = collections.map(({ name }) => name).filter((name) => name.startsWith(qdrant.collections));
  const found: KeptVector[] = [];
  for (const name of names) {
    for (let offset: string | number | null = null, isFirst = true; isFirst || offset !== null; isFirst = false) {
      const page: { points: ScrolledPoint[]; next_page_offset?: string | number | null } = await askQdrant(
        qdrant,
        'POST',
        `/collections/${name}/points/scroll`,
        { limit: pointsPerPage, with_payload: true, with_vector: false, ...(offset === null ? {} : { offset }) },
      );
      found.push(...page.points.map(({ payload }) => ({ ...payload!, model: name })));
      offset = page.next_page_offset ?? null;
    }
  }
  return found.filter(({ botId }) => !isOfTable.test(botId));
}

/** Field `result` of Qdrant's answer. Throws for a status other than 200. */
export async function askQdrant<T>({ url, apiKey }: Qdrant, method: string, path: string, body?: object): Promise<T> {
  const response = await patientFetch(`${url.replace(/\/+$/, '')}${path}`, {
    method,
    body: JSON.stringify(body),
    headers: { ...(apiKey ? { 'api-key': apiKey } : {}), ...(body ? { 'content-type': 'application/json' } : {}) },
  });
  if (response.status !== 200) throw new Error(`Qdrant ${method} ${path}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { result: T }).result;
}

export type KeptPassage = Omit<KeptVector, 'model'>;

export async function passagesIn(database: Client): Promise<KeptPassage[]> {
  const { rows } = await database.query<KeptPassage>(
    `SELECT bot_id AS "botId", id AS "passageId", file_id AS "fileId", content_version AS "contentVersion" FROM files.passage`,
  );
  return rows;
}

/** Passages without a vector, duplicate vectors, and vectors without a passage: each file once. */
export function wrongVectors(passages: KeptPassage[], vectors: KeptVector[]): string[] {
  const known = new Set(passages.map(wholly));
  const vectorOf = new Set(vectors.map(({ botId, passageId }) => `${botId} ${passageId}`));
  const seen = new Set<string>();
  const twice = vectors.filter((vector) => {
    const name = `${vector.model} ${vector.botId} ${vector.passageId}`;
    return seen.has(name) || !seen.add(name);
  });
  return [
    ...filesOf(vectors.filter((vector) => !known.has(wholly(vector)))).map(
      (id) => `${id} has a vector without a passage`,
    ),
    ...filesOf(twice).map((id) => `${id} has a duplicate vector`),
    ...filesOf(passages.filter(({ botId, passageId }) => !vectorOf.has(`${botId} ${passageId}`))).map(
      (id) => `${id} has a passage without a vector`,
    ),
  ];
}

function wholly({ botId, passageId, fileId, contentVersion }: KeptPassage): string {
  return [botId, passageId, fileId, contentVersion].join(' ');
}

function filesOf(things: { fileId: string }[]): string[] {
  return [...new Set(things.map(({ fileId }) => fileId))].sort();
}
