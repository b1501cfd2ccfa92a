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

it('writes a block for each top-level definition', () => {
  expect(Array.from(parseSource([python]), ({ text }) => text.trim().split('\n')[0])).toEqual([
    'import os',
    'def first(a):',
    'class Second:',
  ]);
});

it('does not end a block at a closing brace', () => {
  expect(Array.from(parseSource(['a(() => {\n  b();\n\n});\n\nc();\n']))).toHaveLength(2);
});

it('keeps every line for any slice size', () => {
  const joined = (slices: Iterable<string>) => Array.from(parseSource(slices), ({ text }) => text).join('\n');

  expect(joined([python])).toBe(python.trimEnd());
  expect(joined(python)).toBe(joined([python]));
});
