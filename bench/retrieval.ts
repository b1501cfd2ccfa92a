import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { readConfig } from '@parley/config/config';
import { bundledModel } from '@parley/passages/bundled-embedder';
import { fitLeastScore, toleratedShare } from '@parley/passages/calibration';
import { PassagesConfig } from '@parley/passages/config';
import type { Embedder } from '@parley/passages/embedder';
import { documentTerms, queryTerms } from '@parley/passages/lexicon';
import type { PassageHit, SparseTerms } from '@parley/passages/passage-index';
import { openEmbedder } from '@parley/passages/open';
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
/** Where the platform reads the calibration of the bundled model; copied into dist by the build. */
const calibrationFile = 'libs/passages/model/calibration.json';

interface IndexedSet extends QuestionSet {
  points: Points;
}

interface Half {
  rows: Row[];
  /** Scores of the best hits of questions, and of nonsense. */
  good: number[];
  nonsense: number[];
}

/**
 * Hybrid search and search by words alone (BM25), on sets of questions with known answers: hit@1 and hit@5 are the
 * shares of questions with an answer in first place, and among the first five. The model is the bundled one, or that of
 * EMBEDDINGS_URL.
 */
export async function benchRetrieval({ session, options }: Workbench): Promise<Result[]> {
  // The configuration requires a database, which is not used here.
  const env = { ...process.env, DATABASE_URL: process.env['TEST_DATABASE_URL'] };
  const embedder = openEmbedder(readConfig(PassagesConfig, env));
  session.keep({ stop: () => embedder.close() });
  await embedder.ready();
  const sets: IndexedSet[] = [];
  for (const set of await readSets()) sets.push({ ...set, points: await toPoints(session, embedder, set.passages) });
  const measure = (split: string) => measureHalf(session, embedder, sets, split);
  if (!options.calibrate) {
    const split = options.heldOut ? 'held-out' : 'tune';
    return [toResult(`Retrieval (${split}), ${embedder.model}`, await measure(split), embedder.leastScore)];
  }
  const tune = await measure('tune');
  const leastScore = fitLeastScore(tune.nonsense);
  const fitted = toResult(`Calibration of ${embedder.model}, fitted (tune)`, tune, leastScore);
  const checked = toResult(
    `Calibration of ${embedder.model}, checked (held-out)`,
    await measure('held-out'),
    leastScore,
  );
  checked.notes.push(await keep(embedder.model, leastScore));
  return [fitted, checked];
}

async function measureHalf(session: Session, embedder: Embedder, sets: IndexedSet[], split: string): Promise<Half> {
  const half: Half = { rows: [], good: [], nonsense: [] };
  for (const { name, points, questions } of sets) {
    const chosen = questions.filter((question) => question.split === split);
    const searched = await searchAll(session, embedder, points, chosen);
    half.rows.push(toRow(name, searched));
    half.good.push(...searched.map(bestScore));
  }
  const everything = sets[0]!.points;
  const nonsense = (await readNonsenseQueries()).filter((each) => each.split === split && each.kind === 'nonsense');
  half.nonsense = (await searchAll(session, embedder, everything, nonsense.map(withoutAnswers))).map(bestScore);
  return half;
}

function bestScore({ hits }: Searched): number {
  return hits[0]?.score ?? 0;
}

function toResult(title: string, { rows, good, nonsense }: Half, calibrated: number | undefined): Result {
  const leastScore = calibrated ?? fitLeastScore(nonsense);
  const reaching = (scores: number[]) => mean(scores.map((score) => (score >= leastScore ? 1 : 0)));
  const compared = (figure: string) => (row: Row) => ({
    name: `${row.name}: ${figure}, hybrid less words`,
    value: row.figures[figure]! - row.figures[`words ${figure}`]!,
    atLeast: 0,
  });
  return {
    title,
    rows,
    aims: [
      ...rows.flatMap((row) => [compared('hit@1')(row), compared('hit@5')(row)]),
      { name: `share of ${good.length} questions at or above ${leastScore}`, value: reaching(good), atLeast: 0.95 },
      {
        name: `share of ${nonsense.length} nonsense queries at or above ${leastScore}`,
        value: reaching(nonsense),
        below: toleratedShare,
      },
    ],
    notes:
      calibrated === undefined ? ['The model is not calibrated: this least score was fitted on the same half.'] : [],
    errors: [],
    rounds: {},
  };
}

/** Keeps the least score of the bundled model, and says how that of another one is kept. */
async function keep(model: string, leastScore: number): Promise<string> {
  if (model !== bundledModel) return `Set EMBEDDINGS_LEAST_SCORE=${model}=${leastScore}`;
  await writeFile(calibrationFile, `${JSON.stringify({ [model]: leastScore }, null, 2)}\n`);
  return `Wrote ${calibrationFile}.`;
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

async function toPoints(session: Session, embedder: Embedder, passages: QuestionSet['passages']): Promise<Points> {
  const vectors = await inBatches(session, passages, (batch) => embedder.embed(batch.map(({ text }) => text)));
  const points = passages.map(({ id, text }, i) => {
    const { indices, values } = documentTerms(text);
    const terms = { termIndices: Uint32Array.from(indices), termValues: Float32Array.from(values) };
    return { id: randomUUID(), fileId: id, contentVersion: '', vector: vectors[i]!, ...terms, tags: {} };
  });
  return { block: PointBlock.ofRows(points), vectors: new Map(points.map(({ id: point, vector }) => [point, vector])) };
}

async function inBatches<Item>(
  session: Session,
  all: Item[],
  embed: (batch: Item[]) => Promise<Float32Array[]>,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let start = 0; start < all.length; start += batchSize) {
    session.checkpoint();
    vectors.push(...(await embed(all.slice(start, start + batchSize))));
  }
  return vectors;
}

async function searchAll(
  session: Session,
  embedder: Embedder,
  points: Points,
  questions: Question[],
): Promise<Searched[]> {
  const vectors = await inBatches(session, questions, (batch) =>
    Promise.all(batch.map(({ question }) => embedder.embedQuery(question))),
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
