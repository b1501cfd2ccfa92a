import { changesOf, evaluate, figuresOf, parseQuestions } from './search-evaluation';

const asked = { question: 'Are dogs welcome?', file: 'rules.md' };
const hit = (key: string, content: string) => ({ file: { key }, content });
const run = (...places: (number | null)[]) => ({
  startedAt: '2026-01-01T00:00:00.000Z',
  questions: places.map((place, index) => ({ question: `${index}`, file: 'a.md', place })),
});

it.each([
  ['{', 'The questions are not JSON'],
  ['{}', 'The questions must be a JSON list of 1 to 1000 objects.'],
  ['[]', 'The questions must be a JSON list of 1 to 1000 objects.'],
  ['[null]', '[0].question must be a text'],
  [JSON.stringify([asked, { question: 'x' }]), '[1].file must be the key of the file that answers.'],
  [JSON.stringify([{ ...asked, passage: 1 }]), '[0].passage must be words'],
])('refuses the question set %s and names the entry', (text, message) => {
  expect(() => parseQuestions(text)).toThrow(message);
});

it('reads a question set without unknown fields', () => {
  expect(
    parseQuestions(
      JSON.stringify([
        { ...asked, note: 'x' },
        { ...asked, passage: 'dogs' },
      ]),
    ),
  ).toEqual([asked, { ...asked, passage: 'dogs' }]);
});

it('finds the place of the first passage of the file that contains the words, whatever their case and spaces', async () => {
  const hits = [hit('other.md', 'Dogs  and cats'), hit('rules.md', 'Breakfast'), hit('rules.md', 'DOGS and\ncats')];
  const questions = [asked, { ...asked, passage: 'dogs and cats' }, { ...asked, passage: 'horses' }];
  const counts: number[] = [];

  const found = await evaluate(
    questions,
    undefined,
    () => Promise.resolve({ passages: hits }),
    counts.push.bind(counts),
  );

  expect(found.questions.map(({ place }) => place)).toEqual([2, 3, null]);
  expect(counts).toEqual([1, 2, 3]);
});

it('keeps the last run as the run before, without the one before that', async () => {
  const last = { ...run(2), before: run(1) };

  const kept = await evaluate(
    [asked],
    last,
    () => Promise.resolve({ passages: [] }),
    () => undefined,
  );

  expect(kept).toMatchObject({ questions: [{ ...asked, place: null }], before: run(2) });
  expect(kept.before).not.toHaveProperty('before');
});

it('calculates the shares of first places and first fives, and the mean reciprocal rank', () => {
  expect(figuresOf(run(1, 2, 10, null))).toEqual({
    hitAt1: 0.25,
    hitAt5: 0.5,
    meanReciprocalRank: (1 + 0.5 + 0.1) / 4,
  });
});

it('lists the questions whose place changed, and no question that only one run has', () => {
  expect(changesOf(run(1, 3, 4, 2), run(1, null, 2))).toEqual([
    { question: '1', from: null, to: 3 },
    { question: '2', from: 2, to: 4 },
  ]);
});
