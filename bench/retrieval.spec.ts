import { readRetrievalSet, kinds, splits } from './retrieval-set';

const set = readRetrievalSet();

it('has at least 300 passages, no two of them equal', async () => {
  const { passages } = await set;

  expect(passages.length).toBeGreaterThanOrEqual(300);
  expect(repeated(passages.map(({ id }) => id))).toEqual([]);
  expect(repeated(passages.map(({ text }) => text))).toEqual([]);
});

it('has passages of 300 to 900 characters without markup', async () => {
  const { passages } = await set;

  expect(passages.filter(({ text }) => text.length < 300 || text.length > 900)).toEqual([]);
  expect(passages.filter(({ text }) => /\s\s|\n|<\/|&[a-z]+;/.test(text))).toEqual([]);
});

it('has at least 100 questions in each half, none of them twice', async () => {
  const { questions } = await set;

  for (const half of splits) {
    expect(questions.filter(({ split }) => split === half).length).toBeGreaterThanOrEqual(100);
  }
  expect(questions.filter(({ split }) => !splits.includes(split))).toEqual([]);
  expect(repeated(questions.map(({ id }) => id))).toEqual([]);
  expect(repeated(questions.map(({ question }) => question))).toEqual([]);
});

it('has answers to each question, all of them passages', async () => {
  const { passages, questions } = await set;
  const known = new Set(passages.map(({ id }) => id));

  expect(questions.filter(({ answers }) => answers.length === 0)).toEqual([]);
  expect(questions.filter(({ answers }) => repeated(answers).length > 0)).toEqual([]);
  expect(questions.flatMap(({ answers }) => answers).filter((id) => !known.has(id))).toEqual([]);
});

it.each(kinds)('has as many questions of the kind %s in one half as in the other', async (kind) => {
  const { questions } = await set;

  const [tune, heldOut] = splits.map((half) => questions.filter((each) => each.kind === kind && each.split === half));

  expect(tune!.length).toBeGreaterThan(0);
  expect(Math.abs(tune!.length - heldOut!.length)).toBeLessThanOrEqual(1);
});

function repeated(values: string[]): string[] {
  return values.filter((value, position) => values.indexOf(value) !== position);
}
