import { createHash } from 'node:crypto';
import type { Schemas } from '@qdrant/js-client-rest';
import type { TagQuery } from '@parley/contracts/query-fields';
import type { PassageHit, PassagePoint, SparseTerms } from './passage-index';

interface Payload {
  botId: string;
  fileId: string;
  contentVersion: string;
  passageId: string;
  tags: string[];
}

export const payloadIndexes: Record<keyof Omit<Payload, 'passageId'>, Schemas['PayloadFieldSchema']> = {
  botId: { type: 'keyword', is_tenant: true },
  fileId: 'keyword',
  contentVersion: 'keyword',
  tags: 'keyword',
};

export interface Scored {
  item: Omit<PassageHit, 'score' | 'words'>;
  score: number;
}

/** With the inverse document frequency among the bot's own points. */
export function sparseQuery(botId: string, query: SparseTerms) {
  return { query, using: 'sparse', params: { idf: { corpus: { must: [isOfBot(botId)] } } } };
}

export function toScored({ payload, score }: Schemas['ScoredPoint']): Scored {
  const { passageId, fileId, contentVersion } = payload as unknown as Payload;
  return { item: { id: passageId, fileId, contentVersion }, score };
}

export function toQdrantPoint(botId: string, point: PassagePoint): Schemas['PointStruct'] {
  const payload: Payload = {
    botId,
    fileId: point.fileId,
    contentVersion: point.contentVersion,
    passageId: point.id,
    tags: toKeywords(point.tags),
  };
  const dense = Array.from(point.vector);
  return {
    id: pointId(botId, point.id),
    vector: point.terms.indices.length > 0 ? { dense, sparse: point.terms } : { dense },
    payload: { ...payload },
  };
}

/** Point id, unique in the collection. It includes the bot, so that no bot can overwrite another bot's point. */
export function pointId(botId: string, passageId: string): string {
  const hash = createHash('sha256').update(`${botId}/${passageId}`).digest('hex');
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export function toFilter(botId: string, tags: TagQuery = {}, fileIds?: string[]): Schemas['Filter'] {
  const isOneOf = (name: string, values: string[]) => ({
    key: 'tags',
    match: { any: values.map((value) => toKeyword(name, value)) },
  });
  const entries = Object.entries(tags);
  return {
    must: [
      isOfBot(botId),
      ...(fileIds ? [isOfFiles(fileIds)] : []),
      ...entries.filter(([, { in: allowed }]) => allowed.length > 0).map(([name, tag]) => isOneOf(name, tag.in)),
    ],
    must_not: entries.filter(([, { notIn }]) => notIn.length > 0).map(([name, tag]) => isOneOf(name, tag.notIn)),
  };
}

export function toKeywords(tags: Record<string, string>): string[] {
  return Object.entries(tags).map(([name, value]) => toKeyword(name, value));
}

/**
 * Tag as one keyword. As nested keys, tag names would be parsed as paths (dots, brackets, quotes), and each name would
 * need its own payload index.
 */
function toKeyword(name: string, value: string): string {
  return JSON.stringify([name, value]);
}

export function isOfBot(botId: string): Schemas['FieldCondition'] {
  return { key: 'botId', match: { value: botId } };
}

export function isOfFile(botId: string, fileId: string): Schemas['FieldCondition'][] {
  return [isOfBot(botId), { key: 'fileId', match: { value: fileId } }];
}

export function isOfFiles(fileIds: string[]): Schemas['FieldCondition'] {
  return { key: 'fileId', match: { any: fileIds } };
}
