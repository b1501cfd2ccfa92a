import {
  identifierKinds,
  kinds,
  languages,
  nonsenseKinds,
  type Passage,
  readCrossLingualQueries,
  readIdentifierSet,
  readLanguageSets,
  readNonsenseQueries,
  readRetrievalSet,
  readRowSet,
  rowKinds,
} from './retrieval-set';

interface AnyQuery {
  id: string;
  question: string;
  kind: string;
  split: string;
  answers?: string[];
}

const withoutSpaces = ['ja', 'zh'];

describe('sets of bench/retrieval', () => {
  it('holds 40 passages and 25 questions in each language', async () => {
    for (const { language, passages, questions } of await readLanguageSets()) {
      expect(passages).toHaveLength(40);
      expect(questions).toHaveLength(25);
      checkQueries(questions, kinds, passages);
      expect(questions.filter(({ kind }) => kind === 'paraphrase').length).toBeGreaterThanOrEqual(12.5);
      const [least, most] = withoutSpaces.includes(language) ? [120, 300] : [300, 700];
      expect(passages.filter(({ text }) => text.length < least || text.length > most)).toEqual([]);
      expect(passages.filter(({ id }) => !id.startsWith(`${language}/`))).toEqual([]);
    }
  });

  it('asks about passages of each language in English, and about English ones in each language', async () => {
    const questions = await readCrossLingualQueries();

    checkQueries(questions, kinds, await allPassages());
    const english = new Set(ids((await readRetrievalSet()).passages));
    const pairs = questions.map(({ language, answers }) => {
      const about = answers.every((answer) => english.has(answer)) ? 'en' : answers[0]!.split('/')[0]!;
      return `${language} ${about}`;
    });
    for (const language of languages) {
      expect(pairs.filter((pair) => pair === `en ${language}`)).toHaveLength(4);
      expect(pairs.filter((pair) => pair === `${language} en`)).toHaveLength(4);
    }
    expect(questions).toHaveLength(64);
  });

  it('holds 100 passages and 140 queries with identifiers', async () => {
    const { passages, questions } = await readIdentifierSet();

    expect(passages).toHaveLength(100);
    expect(questions).toHaveLength(140);
    checkQueries(questions, identifierKinds, passages);
  });

  it('names the only passages that hold an identifier, in each of its spellings', async () => {
    const { passages, questions } = await readIdentifierSet();

    // "GRÖSSE" is "Größe" in capitals, which no pattern folds.
    const alone = questions.filter(
      ({ kind, question }) => kind === 'alone' || (kind === 'spelling' && !/ss/i.test(question)),
    );
    for (const { question, answers } of alone) {
      // No part of a longer one: "B1" is not in "AB-1234". The v of a version may be absent.
      const pattern = new RegExp(
        `(?<![\\p{L}\\p{N}])v?${lettersOf(question).map(escaped).join('[^\\p{L}\\p{N}+#%]*')}(?![\\p{L}\\p{N}])`,
        'iu',
      );
      expect([question, ids(passages.filter(({ text }) => pattern.test(text)))]).toEqual([question, answers]);
    }
  });

  it('holds 60 rows and 50 searches for them', async () => {
    const { rows, questions } = await readRowSet();

    expect(rows).toHaveLength(60);
    expect(questions).toHaveLength(50);
    checkQueries(questions, rowKinds, rows);
    expect(rows.filter(({ cells }) => ![2, 3, 4].includes(Object.keys(cells).length))).toEqual([]);
  });

  it('holds 120 questions without an answer, of both kinds in all languages', async () => {
    const questions = await readNonsenseQueries();

    expect(questions).toHaveLength(120);
    checkQueries(questions, nonsenseKinds);
    const found = questions.map(({ kind, language }) => `${kind} ${language}`);
    const all = nonsenseKinds.flatMap((kind) => ['en', ...languages].map((language) => `${kind} ${language}`));
    expect(new Set(found)).toEqual(new Set(all));
  });

  it('holds valid answers, kinds and splits in the English set', async () => {
    const { passages, questions } = await readRetrievalSet();

    checkQueries(questions, kinds, passages);
  });

  it('gives each passage and row of all sets an id of its own', async () => {
    const all = [
      ...ids(await allPassages()),
      ...ids((await readIdentifierSet()).passages),
      ...ids((await readRowSet()).rows),
    ];

    expect(new Set(all).size).toBe(all.length);
  });
});

/** Unique ids and questions, known kinds, answers that exist, and halves that differ by at most two questions. */
function checkQueries(queries: AnyQuery[], known: readonly string[], answering?: { id: string }[]): void {
  expect(new Set(ids(queries)).size).toBe(queries.length);
  expect(new Set(queries.map(({ question }) => question)).size).toBe(queries.length);
  expect(new Set(queries.map(({ kind }) => kind))).toEqual(
    new Set(known.filter((kind) => queries.some((query) => query.kind === kind))),
  );
  const tune = queries.filter(({ split }) => split === 'tune').length;
  const heldOut = queries.filter(({ split }) => split === 'held-out').length;
  expect(tune + heldOut).toBe(queries.length);
  expect(Math.abs(tune - heldOut)).toBeLessThanOrEqual(2);
  if (answering !== undefined) {
    const existing = new Set(ids(answering));
    const wrong = queries.filter(({ answers }) => answers!.length === 0 || !answers!.every((id) => existing.has(id)));
    expect(wrong).toEqual([]);
  }
}

async function allPassages(): Promise<Passage[]> {
  const sets = await readLanguageSets();
  return [...(await readRetrievalSet()).passages, ...sets.flatMap(({ passages }) => passages)];
}

function ids(items: { id: string }[]): string[] {
  return items.map(({ id }) => id);
}

function lettersOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}+#%]/gu)!;
}

function escaped(letter: string): string {
  return letter === '+' ? '\\+' : letter;
}
