import { blocksOf } from './test/blocks-of';
import { isNotebook, parseNotebook } from './parse-notebook';

const picture = 'iVBORw0KGgo'.padEnd(50_000, 'A');
const notebook = (
  cells: unknown[],
  metadata: unknown = { language_info: { codemirror_mode: { name: 'x' }, name: 'python' } },
) => JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 });
const code = (source: string | string[], outputs: unknown[] = []) => ({
  cell_type: 'code',
  execution_count: 1,
  metadata: {},
  outputs,
  source,
});
const read = (cells: unknown[], metadata?: unknown) =>
  Array.from(parseNotebook(notebook(cells, metadata)), ({ type, text }) => [type, text]);

it('reads Markdown as such, code with its language, and the text of outputs', () => {
  const cells = [
    { cell_type: 'markdown', metadata: {}, source: ['# Tides\n', 'Highest at **noon**.\n', '- a\n', '- b'] },
    code(
      ['import sea\n', '\n', '\n', 'sea.level()'],
      [
        { output_type: 'stream', name: 'stdout', text: ['one\n', 'two\n'] },
        { output_type: 'execute_result', data: { 'image/png': picture, 'text/plain': ['4.5\n', 'm'] }, metadata: {} },
        {
          output_type: 'display_data',
          data: { 'image/png': picture, 'text/plain': '<Figure size 640x480 with 1 Axes>' },
        },
      ],
    ),
    { cell_type: 'raw', metadata: {}, source: 'as it is' },
  ];

  expect(read(cells)).toEqual([
    ['title', 'Tides'],
    ['paragraph', 'Highest at noon.'],
    ['list', '- a\n- b'],
    ['code', 'python:\nimport sea\n\n'],
    ['code', 'sea.level()'],
    ['code', 'one\ntwo'],
    ['code', '4.5\nm'],
    ['paragraph', 'as it is'],
  ]);
});

it.each<[string, unknown, unknown[]]>([
  [
    'the last line of an error',
    { output_type: 'error', ename: 'ValueError', evalue: 'bad\n\u001b[31mtide', traceback: ['secret', 'more'] },
    [['code', 'ValueError: tide']],
  ],
  [
    'the best text of an output',
    { output_type: 'display_data', data: { 'text/html': '<b>no</b>', 'text/plain': 'no', 'text/markdown': '## Yes' } },
    [['subtitle', 'Yes']],
  ],
  [
    'a table without other text',
    {
      output_type: 'display_data',
      data: { 'text/html': ['<table><tr><th>Port</th></tr>', '<tr><td>Marlow</td></tr></table>'] },
    },
    [['table', 'Port\nMarlow']],
  ],
  ['an output without colours', { output_type: 'stream', text: '\u001b[1;31mred\u001b[0m' }, [['code', 'red']]],
  ['nothing of an empty output', { output_type: 'stream', text: [] }, []],
  ['nothing of scripts', { output_type: 'display_data', data: { 'application/javascript': 'secret()' } }, []],
])('reads %s', (_, output, expected) => {
  expect(read([code('', [output])])).toEqual(expected);
});

it('shortens a long output in its middle', () => {
  const lines = Array.from({ length: 300_000 }, (_, i) => `line ${i}\n`);
  const [, [, text]] = read([code('x', [{ output_type: 'stream', text: lines }])]) as [unknown, [string, string]];

  expect(text.length).toBeLessThan(2_100);
  expect(text).toMatch(/^line 0\nline 1\n[^]*\n…\n[^]*line 299999$/);
});

it('reads a notebook of the third version', () => {
  const json = JSON.stringify({
    metadata: { name: '' },
    nbformat: 3,
    worksheets: [
      {
        cells: [
          { cell_type: 'heading', level: 2, source: ['Tides'] },
          { cell_type: 'code', language: 'python', input: ['low()'], outputs: [{ text: ['1 m'], png: picture }] },
        ],
      },
    ],
  });

  expect(Array.from(parseNotebook(json), ({ type, text }) => [type, text])).toEqual([
    ['subtitle', 'Tides'],
    ['code', 'python:\nlow()'],
    ['code', '1 m'],
  ]);
});

it.each([
  [{ kernelspec: { display_name: 'Julia 1.9', language: 'julia', name: 'julia-1.9' } }, 'julia:\nf()'],
  [{ language_info: { name: 'R' }, kernelspec: { language: 'x' } }, 'R:\nf()'],
  [{}, 'f()'],
])('names the language that the metadata %j say', (metadata, expected) => {
  expect(read([code('f()')], metadata)).toEqual([['code', expected]]);
});

it.each(['a.ipynb', 'a.json'])('recognises a notebook by its content in %s', async (key) => {
  const bytes = Buffer.from(notebook([{ cell_type: 'markdown', source: '# Tides' }, code('low()')]));

  expect((await blocksOf(bytes, key)).map(({ type }) => type)).toEqual(['title', 'code']);
  expect(isNotebook('{"cells": [{"cell_type": "x"}]}')).toBe(false);
});

it('reads JSON that is named as a notebook', async () => {
  expect((await blocksOf(Buffer.from('{"a": 1}'), 'a.ipynb')).map(({ text }) => text)).toEqual(['a: 1']);
});
