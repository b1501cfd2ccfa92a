import { BundledEmbedder } from '@parley/passages/bundled-embedder';
import { rankConstant } from '@parley/passages/fusion';
import { HybridRanking } from '@parley/passages/hybrid-ranking';
import { documentTerms, queryTerms } from '@parley/passages/lexicon';
import type { PassageHit, PassageQuery } from '@parley/passages/passage-index';
import { PointBlock } from '@parley/passages/point-block';
import type { Result, Row } from './result';
import { kinds, type Passage, type RetrievalQuery, readRetrievalSet } from './retrieval-set';
import type { Session } from './session';
import type { Workbench } from './workbench';

type PassageIds = string[];
interface SearchedQuery {
  question: RetrievalQuery;
  found: Record<'dense' | 'lexical' | 'hybrid', PassageIds>;
}

const batchSize = 32;
const mostHits = 10;
const recallAmong = 5;

/** Recall of dense, lexical and hybrid search on a set of questions with known answers. */
export async function benchRetrieval({ session, options }: Workbench): Promise<Result[]> {
  const { passages, questions } = await readRetrievalSet();
  const split = options.heldOut ? 'held-out' : 'tune';
  const chosen = questions.filter((question) => question.split === split);
  const embedder = new BundledEmbedder();
  session.keep({ stop: () => embedder.close() });
  const points = toPoints(passages, await embedAll(session, embedder, texts(passages)));
  const vectors = await embedAll(session, embedder, texts(chosen));
  const searched: SearchedQuery[] = [];
  for (const [i, question] of chosen.entries()) {
    searched.push({ question, found: await search(points, question.question, vectors[i]!) });
  }

  const rows = (['dense', 'lexical', 'hybrid'] as const).map((way) => toRow(way, searched));
  const [dense, lexical, hybrid] = rows.map(({ figures }) => figures[recallName]!) as [number, number, number];
  return [
    {
      title: `Retrieval: ${chosen.length} questions (${split}) over ${passages.length} passages, ${embedder.model}`,
      rows,
      aims: [
        {
          name: `${recallName}, hybrid less the better of the two`,
          value: hybrid - Math.max(dense, lexical),
          atLeast: -0.02,
        },
      ],
      notes: [`Figures of each kind of question: ${recallName}.`],
      errors: [],
      rounds: {},
    },
  ];
}

const recallName = `recall@${recallAmong}`;

function texts(items: (Passage | RetrievalQuery)[]): string[] {
  return items.map((item) => ('text' in item ? item.text : item.question));
}

async function embedAll(session: Session, embedder: BundledEmbedder, all: string[]): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let start = 0; start < all.length; start += batchSize) {
    session.checkpoint();
    vectors.push(...(await embedder.embed(all.slice(start, start + batchSize))));
  }
  return vectors;
}

function toPoints(passages: Passage[], vectors: Float32Array[]): PointBlock {
  const points = passages.map(({ id, text }, i) => {
    const { indices, values } = documentTerms(text);
    const terms = { termIndices: Uint32Array.from(indices), termValues: Float32Array.from(values) };
    return { id, fileId: id, contentVersion: '', vector: vectors[i]!, ...terms, tags: {} };
  });
  return PointBlock.of(points);
}

async function search(points: PointBlock, text: string, vector: Float32Array): Promise<SearchedQuery['found']> {
  const terms = queryTerms(text);
  return {
    dense: (await rank(points, { vector, limit: mostHits })).map(({ id }) => id),
    lexical: (await rankByWords(points, { vector, terms, limit: points.size })).slice(0, mostHits),
    hybrid: (await rank(points, { vector, terms, limit: mostHits })).map(({ id }) => id),
  };
}

function rank(points: PointBlock, query: PassageQuery): Promise<PassageHit[]> {
  const ranking = new HybridRanking(query);
  ranking.consider(points);
  return ranking.hits();
}

/** HybridRanking has no lexical-only mode: the lexical rank is the fused score without the dense part. */
async function rankByWords(points: PointBlock, query: PassageQuery): Promise<PassageIds> {
  const dense = await rank(points, { ...query, terms: undefined });
  const ofDense = new Map(dense.map(({ id }, position) => [id, 1 / (rankConstant + position + 1)]));
  const fused = await rank(points, query);
  return fused
    .map(({ id, score }) => ({ id, score: score - ofDense.get(id)! }))
    .filter(({ score }) => score > 1e-9)
    .sort((left, right) => right.score - left.score)
    .map(({ id }) => id);
}

function toRow(way: keyof SearchedQuery['found'], searched: SearchedQuery[]): Row {
  const recall = (of: SearchedQuery[]) => mean(of.map(({ question, found }) => recallOf(question, found[way])));
  const ofKinds = kinds.map(
    (kind) => [kind, recall(searched.filter(({ question }) => question.kind === kind))] as const,
  );
  const reciprocalRank = mean(searched.map(({ question, found }) => reciprocalRankOf(question, found[way])));
  const figures = { [recallName]: recall(searched), [`MRR@${mostHits}`]: reciprocalRank };
  return { name: way, figures: { ...figures, ...Object.fromEntries(ofKinds) } };
}

function recallOf({ answers }: RetrievalQuery, found: PassageIds): number {
  const first = found.slice(0, recallAmong);
  return answers.filter((answer) => first.includes(answer)).length / answers.length;
}

function reciprocalRankOf({ answers }: RetrievalQuery, found: PassageIds): number {
  const position = found.findIndex((id) => answers.includes(id));
  return position < 0 ? 0 : 1 / (position + 1);
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
