import { parseMarkdown } from './parse-markdown';

const lines = (...all: string[]) => all.join('\n');
const range = (length: number) => Array.from({ length }, (_, i) => i + 1);

it('maps headings of level 1 to titles and others to subtitles', () => {
  expect(parseMarkdown(lines('# One *two*', '', 'Three', '---', '', '###### Six'))).toEqual([
    { type: 'title', text: 'One two', level: 1 },
    { type: 'subtitle', text: 'Three', level: 2 },
    { type: 'subtitle', text: 'Six', level: 6 },
  ]);
});

it('keeps the text of marked-up phrases', () => {
  const markdown =
    'Some **bold** `code()` [link](http://a.b "t"), ![image](a.png), ~~gone~~ [ref]\nnext  \nline\n\n[ref]: c';

  expect(parseMarkdown(markdown)).toEqual([
    { type: 'paragraph', text: 'Some bold code() link, image, gone ref next\nline' },
  ]);
});

it('keeps markers, numbers, tasks and indentation of nested lists', () => {
  const markdown = lines('- a', '  - b', '    1. c', '    2. d', '', '       more d', '- [x] done', '- [ ] open');

  expect(parseMarkdown(markdown)).toEqual([
    { type: 'list', text: '- a\n  - b\n    1. c\n    2. d\n      more d\n- [x] done\n- [ ] open' },
  ]);
});

it('splits a list at code', () => {
  expect(parseMarkdown(lines('1. Run', '', '   ```', '   npm start', '   ```', '2. Look'))).toEqual([
    { type: 'list', text: '1. Run' },
    { type: 'code', text: 'npm start' },
    { type: 'list', text: '2. Look' },
  ]);
});

it('reads a table of 300 rows as one block with its header', () => {
  const rows = range(300).map((n) => `| row ${n} | **value** \\| ${n} |`);

  const blocks = parseMarkdown(lines('Before', '', '| Name | Value |', '|:--|--:|', ...rows, '', 'After'));

  expect(blocks.map((block) => block.type)).toEqual(['paragraph', 'table', 'paragraph']);
  expect(blocks[1]).toEqual({
    type: 'table',
    text: lines('Name | Value', ...range(300).map((n) => `row ${n} | value | ${n}`)),
    headerLines: 1,
  });
});

it('reads a code fence of 200 lines as one block', () => {
  const code = range(200).map((n) => (n % 10 ? `  line ${n} # [x] | y` : ''));

  const blocks = parseMarkdown(lines('Before', '~~~ts', ...code, '```', '~~~', 'After'));

  expect(blocks).toEqual([
    { type: 'paragraph', text: 'Before' },
    { type: 'code', text: lines(...code, '```') },
    { type: 'paragraph', text: 'After' },
  ]);
});

it('keeps quotes, and a heading at the end of the document', () => {
  expect(parseMarkdown(lines('> a', '> b', '>', '> - c', '', '## End'))).toEqual([
    { type: 'blockquote', text: 'a b\n- c' },
    { type: 'subtitle', text: 'End', level: 2 },
  ]);
});

it('keeps the visible text of HTML', () => {
  const markdown = lines(
    'A<br>b <script>secret()</script> <b>c</b> &lt; d',
    '',
    '<h1 align="center">Title</h1>',
    '',
    '<script>',
    '',
    'secret()',
    '',
    '</script>',
    '',
    '<!-- secret',
    '',
    'secret -->',
    '<table>',
    '',
    '<tr><td>1</td><td>2</td></tr>',
    '',
    '</table>',
  );

  expect(parseMarkdown(markdown)).toEqual([
    { type: 'paragraph', text: 'A\nb c < d' },
    { type: 'title', text: 'Title', level: 1 },
    { type: 'table', text: '1 | 2', headerLines: 0 },
  ]);
});

it.each([
  ['<script>', '</script>'],
  ['<!--', '-->'],
])('hides the content of a long %s', (start, end) => {
  const secret = '\nsecret();\n\n```\n\n# secret\n'.repeat(1000);

  expect(parseMarkdown(`before\n\n${start}${secret}${end}\n\nafter`).map((block) => block.text)).toEqual([
    'before',
    'after',
  ]);
});

it('reads a long document like its sections one by one', () => {
  const section = (n: number) =>
    lines(
      `## Section ${n}`,
      '',
      `See [the ref] and [^1].`,
      '',
      '- item',
      '',
      '  more',
      '- item',
      '',
      '> quote',
      '',
      '',
    );
  const definitions = '[The  Ref]: http://a.b\n\n[^1]: Note\n';

  const blocks = parseMarkdown(range(500).map(section).join('') + definitions);

  const expected = range(500).flatMap((n) => [
    { type: 'subtitle', text: `Section ${n}`, level: 2 },
    { type: 'paragraph', text: 'See the ref and [1].' },
    { type: 'list', text: '- item\n  more\n- item' },
    { type: 'blockquote', text: 'quote' },
  ]);
  expect(blocks).toEqual([...expected, { type: 'paragraph', text: '[1] Note' }]);
});

it('keeps the labels of notes where they are referred to, and before their texts', () => {
  expect(
    parseMarkdown('Rye[^1] and **oats[^oat]**.\n\n[^1]: Coarse.\n\n    Or fine.\n[^oat]:\n    - white').map(
      ({ text }) => text,
    ),
  ).toEqual(['Rye[1] and oats[oat].', '[1] Coarse.', 'Or fine.', '- white']);
});

it('keeps every word of a long paragraph and of a long line', () => {
  const words = range(20_000).map((n) => `word${n}`);
  const read = (markdown: string) => parseMarkdown(markdown).flatMap((block) => block.text.split(/\s+/));

  expect(read(words.join('\n'))).toEqual(words);
  expect(read(words.join(' '))).toEqual(words);
});

it('leaves out images in data URLs', () => {
  expect(parseMarkdown(`Look: ![a plan](data:image/png;base64,${'AAAA'.repeat(100_000)}) there`)).toEqual([
    { type: 'paragraph', text: 'Look: a plan there' },
  ]);
});

it.each(['[', '![', '[a](', '*', '*a _b ', '`a ``b ', '<a ', '~', '&#', '|', '>', '- ', '1. ', '> - '])(
  'reads endless %j, on one line and on lines of 7,000 characters',
  (mark) => {
    const line = mark.repeat(7_000 / mark.length);

    expect(parseMarkdown(`x\n\n${mark.repeat(100_000)}\n\ny`).at(-1)?.text).toBe('y');
    expect(parseMarkdown(`x\n\n${line}\n\n${line}\n\ny`).at(-1)?.text).toBe('y');
  },
);

it('reads quotes and lists nested 1,000 deep', () => {
  const quotes = range(1000).map((n) => `${'> '.repeat(n)}q${n}`);
  const lists = range(1000).map((n) => `${'  '.repeat(n - 1)}- l${n}`);

  const text = parseMarkdown(lines(...quotes, '', ...lists))
    .map((block) => block.text)
    .join('\n');

  expect(text.match(/q\d+/g)).toHaveLength(1000);
  expect(text.match(/l\d+/g)).toHaveLength(1000);
});

it.each([
  ['---\ntitle: My page\ntags: [a, b]\n---\n# Top', 'title: My page\ntags: [a, b]'],
  ['+++\ntitle = "My page"\n\n[extra]\n+++\n# Top', 'title = "My page"\n\n[extra]'],
])('keeps front matter as code: %j', (markdown, text) => {
  expect(parseMarkdown(markdown)).toEqual([
    { type: 'code', text },
    { type: 'title', text: 'Top', level: 1 },
  ]);
});

it.each(['---\nText\n\n---\n', 'Text\n\n---\na: b\n\n---\n', '---\na: b\n'])(
  'does not read a thematic break as front matter in %j',
  (markdown) => {
    expect(parseMarkdown(markdown).map((block) => block.type)).not.toContain('code');
  },
);
