import { storageProblem } from './storage';

describe('an input', () => {
  it.each<[string, unknown]>([
    ['plain values', { a: 'x', b: 1, c: null, d: true, e: [1, 'x', {}] }],
    ['any script, and control characters but one', { 'ключ 🔑': '\u0001\u007f漢字 👩‍👩‍👧' }],
    ['nesting up to the limit', nested(99)],
  ])('accepts an input with %s', (_name, input) => {
    expect(storageProblem(input)).toBeUndefined();
  });

  it.each<[string, unknown, string]>([
    ['U+0000', { a: { b: ['x', 'y\0'] } }, 'a.b.1 must not contain the character U+0000'],
    ['U+0000 in a name', { a: { 'b\0': 1 } }, 'a.b\\u0000 must not contain the character U+0000'],
    ['a high surrogate alone', { a: 'x\ud83d' }, 'a must be Unicode text without unpaired surrogates'],
    ['a low surrogate alone', { a: '\ude00x' }, 'a must be Unicode text without unpaired surrogates'],
    ['half a pair in a name', { '\ud83d': 1 }, '\\ud83d must be Unicode text without unpaired surrogates'],
    ['a number beyond all numbers', JSON.parse('{"a":[1,-1e400]}'), `a.1 must be a number up to ${Number.MAX_VALUE}`],
    ['too many levels', { a: nested(100) }, 'a must not be nested deeper than 100 levels'],
    ['levels without end', { a: nested(100_000) }, 'a must not be nested deeper than 100 levels'],
  ])('rejects an input with %s', (_name, input, problem) => {
    expect(storageProblem(input)).toBe(problem);
  });

  it('names a rejected input by a truncated path', () => {
    expect(storageProblem({ ['x'.repeat(10_000)]: '\0' })!.length).toBeLessThan(300);
  });
});

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = { v: value };
  return value;
}
