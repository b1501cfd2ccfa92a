import { parseSource } from './parse-source';

const python = `import os


def first(a):
    b = a + 1

    return b


class Second:
    def method(self):
        pass

    def other(self):
        pass
`;

it('has a block for each definition at the outermost level', () => {
  expect(Array.from(parseSource([python]), ({ text }) => text.trim().split('\n')[0])).toEqual([
    'import os',
    'def first(a):',
    'class Second:',
  ]);
});

it('does not end a block at a closing brace', () => {
  expect(Array.from(parseSource(['a(() => {\n  b();\n\n});\n\nc();\n']))).toHaveLength(2);
});

it('keeps every line in slices of any size', () => {
  const joined = (slices: Iterable<string>) => Array.from(parseSource(slices), ({ text }) => text).join('\n');

  expect(joined([python])).toBe(python.trimEnd());
  expect(joined(python)).toBe(joined([python]));
});
