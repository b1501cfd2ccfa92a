import { readFile } from 'node:fs/promises';

export interface Passage {
  id: string;
  source: string;
  text: string;
}

export const kinds = ['wording', 'paraphrase', 'identifier', 'keyword', 'typo', 'long'] as const;
/** Search may be tuned with `tune` only; `held-out` is for the last measurement. */
export const splits = ['tune', 'held-out'] as const;

export interface RetrievalQuery {
  id: string;
  question: string;
  answers: string[];
  kind: (typeof kinds)[number];
  split: (typeof splits)[number];
}

/** Reads the test set described in bench/retrieval/README.md. */
export async function readRetrievalSet(): Promise<{ passages: Passage[]; questions: RetrievalQuery[] }> {
  const read = async (name: string) => JSON.parse(await readFile(`bench/retrieval/${name}.json`, 'utf8')) as unknown;
  return { passages: (await read('passages')) as Passage[], questions: (await read('questions')) as RetrievalQuery[] };
}
