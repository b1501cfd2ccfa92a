import { readFile } from 'node:fs/promises';

export interface Passage {
  id: string;
  source: string;
  text: string;
}

export const kinds = ['wording', 'paraphrase', 'identifier', 'keyword', 'typo', 'long'] as const;
/** Spelling of the identifier in the query: as in the passage alone, another one, or with words around it. */
export const identifierKinds = ['alone', 'spelling', 'around', 'sentence'] as const;
export const rowKinds = ['code', 'part', 'meaning'] as const;
export const nonsenseKinds = ['nonsense', 'near-miss'] as const;
/** Search may be tuned with `tune` only; `held-out` is for the last measurement. */
export const splits = ['tune', 'held-out'] as const;
/** Languages of the sets in `languages/`. */
export const languages = ['de', 'fr', 'es', 'pt', 'ru', 'ja', 'zh', 'ar'] as const;
export type Language = 'en' | (typeof languages)[number];

interface Query<Kind> {
  id: string;
  question: string;
  kind: Kind;
  split: (typeof splits)[number];
}

interface AnsweredQuery<Kind> extends Query<Kind> {
  /** Ids of all passages or rows that answer. */
  answers: string[];
}

export type RetrievalQuery = AnsweredQuery<(typeof kinds)[number]>;

export interface LanguageSet {
  language: Language;
  passages: Passage[];
  questions: RetrievalQuery[];
}

/** Its passages are those of the English set and of all languages. */
export interface CrossLingualQuery extends RetrievalQuery {
  language: Language;
}

export interface IdentifierSet {
  passages: Passage[];
  questions: AnsweredQuery<(typeof identifierKinds)[number]>[];
}

export interface TableRow {
  id: string;
  table: string;
  cells: Record<string, string>;
}

export interface RowSet {
  rows: TableRow[];
  questions: AnsweredQuery<(typeof rowKinds)[number]>[];
}

/** No passage and no row answers it. */
export interface NonsenseQuery extends Query<(typeof nonsenseKinds)[number]> {
  language: Language;
}

/** Reads the English set. bench/retrieval/README.md describes the sets. */
export async function readRetrievalSet(): Promise<{ passages: Passage[]; questions: RetrievalQuery[] }> {
  return { passages: await read<Passage[]>('passages'), questions: await read<RetrievalQuery[]>('questions') };
}

export function readLanguageSets(): Promise<LanguageSet[]> {
  return Promise.all(languages.map((language) => read<LanguageSet>(`languages/${language}`)));
}

export function readCrossLingualQueries(): Promise<CrossLingualQuery[]> {
  return read('cross-lingual');
}

export function readIdentifierSet(): Promise<IdentifierSet> {
  return read('identifiers');
}

export function readRowSet(): Promise<RowSet> {
  return read('rows');
}

export function readNonsenseQueries(): Promise<NonsenseQuery[]> {
  return read('nonsense');
}

async function read<Content>(name: string): Promise<Content> {
  return JSON.parse(await readFile(`bench/retrieval/${name}.json`, 'utf8')) as Content;
}
