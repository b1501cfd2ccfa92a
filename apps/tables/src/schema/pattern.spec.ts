import { Pattern } from './pattern';

describe('a pattern', () => {
  it.each([
    ['^[A-Z]{2}-\\d{4}$', 'AB-1234', 'AB-12345'],
    ['b', 'abc', 'ac'],
    ['^(?<year>\\d{4})\\/\\p{L}+$', '2026/é', '2026/1'],
    ['^\\u00e9$', 'é', 'e'],
  ])('matches with the pattern %s the text %j and not %j', (source, fits, other) => {
    const pattern = Pattern.compile(source);

    expect(pattern.test(fits)).toBe(true);
    expect(pattern.test(other)).toBe(false);
  });

  it.each(['(', 'a{2,1}', '(?=a)', '(?!a)', '(?<=a)b', '(a)\\1', '[z-a]', 'a{1001}'])(
    'refuses the pattern %s',
    (source) => {
      expect(() => Pattern.compile(source)).toThrow(
        /^must be a regular expression without look-around and back references/,
      );
    },
  );

  it('limits a pattern in length and size', () => {
    expect(() => Pattern.compile('a'.repeat(1001))).toThrow('must be at most 1000 characters');
    expect(() => Pattern.compile('(abc|def){300}')).toThrow('repeats too much: use smaller counts in braces');
  });

  it.each([
    ['^(a+)+$', 'a'],
    ['^(a|a)*$', 'a'],
    ['[ab]*a[ab]{300}$', 'ab'],
  ])('terminates the pattern %s with the longest text', (source, part) => {
    const pattern = Pattern.compile(source);
    const text = part.repeat(pattern.longestText / part.length) + '!';

    // A backtracking matcher would not terminate.
    expect(pattern.test(text)).toBe(false);
  });

  it('tests shorter texts, the more instructions a pattern has', () => {
    expect(['a', '^[0-9]+$', '(ab){100}'].map((source) => Pattern.compile(source).longestText)).toEqual([
      166_666, 83_333, 1_243,
    ]);
  });
});
