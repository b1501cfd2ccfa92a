import { randomUUID } from 'node:crypto';
import { BundledEmbedder } from '@parley/passages/bundled-embedder';
import { documentTerms, queryTerms } from '@parley/passages/lexicon';
import type { PassageHit, SparseTerms } from '@parley/passages/passage-index';
import { PointBlock } from '@parley/passages/point-block';
import { PointScan } from '@parley/passages/point-scan';
import { rescored } from '@parley/passages/rescoring';
import { dot } from '@parley/passages/vectors';
import type { Result, Row } from './result';
import {
  type Passage,
  readCrossLingualQueries,
  readIdentifierSet,
  readLanguageSets,
  readNonsenseQueries,
  readRetrievalSet,
  readRowSet,
} from './retrieval-set';
import type { Session } from './session';
import type { Workbench } from './workbench';

interface Question {
  question: string;
  answers: string[];
  split: string;
}

/** Questions over passages, of which each set has its own index, as a bot has. */
interface QuestionSet {
  name: string;
  passages: Pick<Passage, 'id' | 'text'>[];
  questions: Question[];
}

interface Searched {
  question: Question;
  hits: PassageHit[];
  byWords: PassageHit[];
}

/** The file of a point is its passage. */
interface Points {
  block: PointBlock;
  vectors: Map<string, Float32Array>;
}

const batchSize = 32;
const mostHits = 10;
/** Among nonsense queries, this share may have a hit at the threshold of a good one. */
const toleratedShare = 0.05;

/**
 * Hybrid search and search by words alone (BM25), on sets of questions with known answers: hit@1 and hit@5 are the
 * shares of questions with an answer in first place, and among the first five.
 */
export async function benchRetrieval({ session, options }: Workbench): Promise<Result[]> {
  const split = options.heldOut ? 'held-out' : 'tune';
  const embedder = new BundledEmbedder();
  session.keep({ stop: () => embedder.close() });
  const rows: Row[] = [];
  const best: number[] = [];
  const sets = await readSets();
  for (const set of sets) {
    const points = await toPoints(session, embedder, set.passages);
    const chosen = set.questions.filter((question) => question.split === split);
    const searched = await searchAll(session, embedder, points, chosen);
    best.push(...searched.map(({ hits }) => hits[0]?.score ?? 0));
    rows.push(toRow(set.name, searched));
  }
  const everything = await toPoints(session, embedder, sets[0]!.passages);
  const nonsense = (await readNonsenseQueries()).filter((each) => each.split === split && each.kind === 'nonsense');
  const scores = (await searchAll(session, embedder, everything, nonsense.map(withoutAnswers)))
    .map(({ hits }) => hits[0]?.score ?? 0)
    .sort((a, b) => a - b);
  const threshold = scores[Math.floor(scores.length * (1 - toleratedShare))] ?? 0;
  const good = best.filter((score) => score > threshold).length / best.length;
  return [
    {
      title: `Retrieval (${split}), ${embedder.model}`,
      rows,
      aims: [
        ...rows.flatMap(({ name, figures }) => [
          { name: `${name}: hit@1, hybrid less words`, value: figures['hit@1']! - figures['words hit@1']!, atLeast: 0 },
          { name: `${name}: hit@5, hybrid less words`, value: figures['hit@5']! - figures['words hit@5']!, atLeast: 0 },
        ]),
        {
          name: `share of good questions above ${threshold.toFixed(3)}, the score of 5 % of ${scores.length} nonsense queries`,
          value: good,
          atLeast: 0.95,
        },
      ],
      notes: [],
      errors: [],
      rounds: {},
    },
  ];
}

async function readSets(): Promise<QuestionSet[]> {
  const english = { name: 'en', ...(await readRetrievalSet()) };
  const languages = (await readLanguageSets()).map(({ language, ...set }) => ({ name: language, ...set }));
  const passages = [english, ...languages].flatMap((set) => set.passages);
  const { rows, questions } = await readRowSet();
  const texts = rows.map(({ id, cells }) => ({ id, text: Object.values(cells).join('\n') }));
  return [
    { name: 'cross-lingual', passages, questions: await readCrossLingualQueries() },
    english,
    ...languages,
    { name: 'identifiers', ...(await readIdentifierSet()) },
    { name: 'rows', passages: texts, questions },
  ];
}

function withoutAnswers({ question, split }: { question: string; split: string }): Question {
  return { question, split, answers: [] };
}

async function toPoints(
  session: Session,
  embedder: BundledEmbedder,
  passages: QuestionSet['passages'],
): Promise<Points> {
  const vectors = await embedAll(session, embedder, texts(passages));
  const points = passages.map(({ id, text }, i) => {
    const { indices, values } = documentTerms(text);
    const terms = { termIndices: Uint32Array.from(indices), termValues: Float32Array.from(values) };
    return { id: randomUUID(), fileId: id, contentVersion: '', vector: vectors[i]!, ...terms, tags: {} };
  });
  return { block: PointBlock.ofRows(points), vectors: new Map(points.map(({ id: point, vector }) => [point, vector])) };
}

function texts(passages: QuestionSet['passages']): string[] {
  return passages.map(({ text }) => text);
}

async function embedAll(session: Session, embedder: BundledEmbedder, all: string[]): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let start = 0; start < all.length; start += batchSize) {
    session.checkpoint();
    vectors.push(...(await embedder.embed(all.slice(start, start + batchSize))));
  }
  return vectors;
}

async function searchAll(
  session: Session,
  embedder: BundledEmbedder,
  points: Points,
  questions: Question[],
): Promise<Searched[]> {
  const vectors = await embedAll(
    session,
    embedder,
    questions.map(({ question }) => question),
  );
  const searched: Searched[] = [];
  for (const [i, question] of questions.entries()) {
    const terms = queryTerms(question.question);
    searched.push({
      question,
      hits: await search(points, vectors[i]!, terms),
      byWords: await search(points, new Float32Array(embedder.dimensions), terms),
    });
  }
  return searched;
}

async function search({ block, vectors }: Points, vector: Float32Array, terms: SparseTerms): Promise<PassageHit[]> {
  const query = { vector, terms, limit: mostHits };
  const scan = new PointScan(query);
  scan.consider(block);
  const cosines = (ids: string[]) => new Map(ids.map((id) => [id, dot(vector, vectors.get(id)!)]));
  return rescored(scan.candidates(), query, (ids) => Promise.resolve(cosines(ids)));
}

function toRow(name: string, searched: Searched[]): Row {
  const wordHits = searched.map(({ question, byWords }) => ({
    question,
    hits: byWords.filter((hit) => hit.score > 0),
  }));
  return {
    name,
    figures: {
      questions: searched.length,
      'hit@1': hitsAmong(1, searched),
      'hit@5': hitsAmong(5, searched),
      [`MRR@${mostHits}`]: mean(searched.map(({ question, hits }) => reciprocalRankOf(question, hits))),
      'words hit@1': hitsAmong(1, wordHits),
      'words hit@5': hitsAmong(5, wordHits),
    },
  };
}

function hitsAmong(first: number, searched: Pick<Searched, 'question' | 'hits'>[]): number {
  return mean(
    searched.map(({ question, hits }) =>
      hits.slice(0, first).some(({ fileId }) => question.answers.includes(fileId)) ? 1 : 0,
    ),
  );
}

function reciprocalRankOf({ answers }: Question, hits: PassageHit[]): number {
  const position = hits.findIndex(({ fileId }) => answers.includes(fileId));
  return position < 0 ? 0 : 1 / (position + 1);
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
