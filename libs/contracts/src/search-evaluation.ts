/** Evaluation of the search of a bot: its questions and its last run are files of the bot, written by CLI and console. */
export const questionsKey = 'evaluation/questions.json';
export const lastRunKey = 'evaluation/last-run.json';
/** Searched for each question. */
const evaluatedHits = 10;
export const maxQuestions = 1_000;

export interface EvaluationQuestion {
  question: string;
  /** Key of the file that answers. */
  file: string;
  /** Words that the answering passage contains. Without them, any passage of the file answers. */
  passage?: string;
}

export interface EvaluatedQuestion extends EvaluationQuestion {
  /** Place of the first answer among the hits, from 1; null when none of them answers. */
  place: number | null;
}

export interface EvaluationRun {
  startedAt: string;
  questions: EvaluatedQuestion[];
}

export interface KeptRun extends EvaluationRun {
  /** The run before, to compare with. */
  before?: EvaluationRun;
}

export interface EvaluationFigures {
  /** Shares of the questions with an answer in first place, and among the first five. */
  hitAt1: number;
  hitAt5: number;
  /** Mean reciprocal rank of the first answer. */
  meanReciprocalRank: number;
}

export interface EvaluatedHit {
  content: string;
  file: { key: string };
}

/** Thrown for a question set that cannot be used. The message names the entry and the field. */
export class InvalidQuestions extends Error {}

export function parseQuestions(text: string): EvaluationQuestion[] {
  const set = parseJson(text);
  if (!Array.isArray(set) || set.length === 0 || set.length > maxQuestions)
    throw new InvalidQuestions(`The questions must be a JSON list of 1 to ${maxQuestions} objects.`);
  return set.map((entry: unknown, index) => {
    const { question, file, passage } = (entry ?? {}) as Record<string, unknown>;
    if (!isText(question)) throw new InvalidQuestions(`[${index}].question must be a text that is not empty.`);
    if (!isText(file)) throw new InvalidQuestions(`[${index}].file must be the key of the file that answers.`);
    if (passage !== undefined && !isText(passage))
      throw new InvalidQuestions(`[${index}].passage must be words that the answering passage contains, or absent.`);
    return { question, file, ...(passage !== undefined && { passage }) };
  });
}

function placeOf({ file, passage = '' }: EvaluationQuestion, hits: EvaluatedHit[]): number | null {
  const index = hits.findIndex((hit) => hit.file.key === file && folded(hit.content).includes(folded(passage)));
  return index < 0 ? null : index + 1;
}

/** Asks each question in turn. The result has the last run as the run before. `onAsked` gets the number of questions asked. */
export async function evaluate(
  questions: EvaluationQuestion[],
  last: KeptRun | undefined,
  search: (query: { query: string; limit: number }) => Promise<{ passages: EvaluatedHit[] }>,
  onAsked: (count: number) => void,
): Promise<KeptRun> {
  const run: EvaluationRun = { startedAt: new Date().toISOString(), questions: [] };
  for (const question of questions) {
    const { passages } = await search({ query: question.question, limit: evaluatedHits });
    run.questions.push({ ...question, place: placeOf(question, passages) });
    onAsked(run.questions.length);
  }
  return last ? { ...run, before: { startedAt: last.startedAt, questions: last.questions } } : run;
}

export function figuresOf({ questions }: EvaluationRun): EvaluationFigures {
  const mean = (value: (place: number | null) => number) =>
    questions.reduce((sum, { place }) => sum + value(place), 0) / questions.length;
  return {
    hitAt1: mean((place) => (place === 1 ? 1 : 0)),
    hitAt5: mean((place) => (place !== null && place <= 5 ? 1 : 0)),
    meanReciprocalRank: mean((place) => (place === null ? 0 : 1 / place)),
  };
}

/** Questions of both runs whose place changed, by the question's text. */
export function changesOf(
  run: EvaluationRun,
  before: EvaluationRun,
): { question: string; from: number | null; to: number | null }[] {
  const former = new Map(before.questions.map((each) => [JSON.stringify([each.question, each.file]), each.place]));
  return run.questions.flatMap(({ question, file, place }) => {
    const from = former.get(JSON.stringify([question, file]));
    return from === undefined || from === place ? [] : [{ question, from, to: place }];
  });
}

export function missedOf({ questions }: EvaluationRun): EvaluatedQuestion[] {
  return questions.filter(({ place }) => place === null || place > 5);
}

export function placeText(place: number | null): string {
  return place === null ? 'absent' : String(place);
}

/** Change of a figure with its sign. */
export function changeText(change: number): string {
  return `${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(3)}`;
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidQuestions(`The questions are not JSON: ${(error as Error).message}.`, { cause: error });
  }
}
