import { UnreadableDocument } from './block';
import { parseRtf } from './parse-rtf';

const parse = (rtf: string) => parseRtf(Buffer.from(rtf, 'latin1'));
const read = (body: string) => parse(`{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0 Arial;}}${body}\\par}`);
const textOf = (body: string) =>
  read(body)
    .map(({ text }) => text)
    .join('\n\n');

describe('characters', () => {
  it.each([
    ['of the code page', "caf\\'e9 \\'80", 'café €'],
    ['as they are', 'na\xefve', 'naïve'],
    ['in Unicode with what old readers show', "\\u8364?5 \\u20013\\'3f", '€5 中'],
    ['in Unicode with two of these', '\\uc2\\u28450 ab!', '漢!'],
    ['in Unicode without', '\\uc0\\u8364 x', '€x'],
    ['beyond 16 bits', '\\u-10180?\\u-8384?', '🍀'],
    ['that the fallback of a group does not swallow', '{\\uc0 {\\u228 a}}\\u228?b', 'äaäb'],
    ['with names', '\\ldblquote a\\rdblquote\\emdash b\\~c\\_d\\-e', '“a”—b\u00a0c\u2011de'],
    ['that are braces', 'a\\{b\\}\\\\', 'a{b}\\'],
    ['over the ends of lines', 'one\r\n two\nthree', 'one twothree'],
  ])('reads characters %s', (_, body, text) => {
    expect(textOf(body)).toBe(text);
  });

  it.each([
    ['\\fcharset204', "\\'cf\\'f0", 'Пр'],
    ['\\fcharset128', "\\'93\\'fa\\'96\\'7b", '日本'],
    ['\\fcharset134', "\\'d6\\'d0", '中'],
    ['\\fcharset136', "\\'a4\\'a4", '中'],
    ['\\fcharset129', "\\'c7\\'d1", '한'],
    ['\\fcharset238', "\\'b3", 'ł'],
    ['\\fcharset161', "\\'e1", 'α'],
    ['\\fcharset255', "\\'81", 'ü'],
    ['\\cpg437', "\\'e1", 'ß'],
  ])('decodes characters of a font with %s: %s', (charset, body, text) => {
    expect(textOf(`{\\fonttbl{\\f7${charset} X;}}a{\\f7 ${body}}b`)).toBe(`a${text}b`);
  });

  it.each([
    ['\\ansi\\ansicpg1251', "\\'cf", 'П'],
    ['\\pc', "\\'81", 'ü'],
    ['\\pca', "\\'81", 'ü'],
    ['\\mac', "\\'8a", 'ä'],
  ])('decodes characters of a document in %s', (charset, body, text) => {
    expect(parse(`{\\rtf1${charset} ${body}}`)[0]?.text).toBe(text);
  });
});

describe('blocks', () => {
  it('detects headings by outline level, style and style name', () => {
    const styles = '{\\stylesheet{Normal;}{\\s1\\outlinelevel1 My own;}{\\s2 heading 3;}{\\*\\cs3 Strong;}}';

    expect(read(`${styles}\\pard\\s1 A\\par\\pard\\s2 B\\par\\pard\\outlinelevel0 C\\par\\pard D`)).toEqual([
      { type: 'subtitle', level: 2, text: 'A' },
      { type: 'subtitle', level: 3, text: 'B' },
      { type: 'title', level: 1, text: 'C' },
      { type: 'paragraph', text: 'D' },
    ]);
  });

  it('reads lists with their markers', () => {
    const item = (marker: string, level: number, text: string) =>
      `\\pard{\\listtext ${marker}\\tab}\\ls1\\ilvl${level} ${text}\\par`;

    expect(read(item("\\'b7", 0, 'a') + item('2.', 1, 'b') + item('c)', 0, 'd'))).toEqual([
      { type: 'list', text: '- a\n  2. b\nc) d' },
    ]);
  });

  it('reads tables and their marked header rows', () => {
    const row = (start: string, ...cells: string[]) =>
      `\\trowd${start}\\pard\\intbl ${cells.map((cell) => `${cell}\\cell `).join('')}\\row\\pard `;

    expect(read(`before\\par${row('\\trhdr', 'h', 'i')}${row('', 'a\\par b', 'c')}after`)).toEqual([
      { type: 'paragraph', text: 'before' },
      { type: 'table', headerLines: 1, text: 'h | i\na b | c' },
      { type: 'paragraph', text: 'after' },
    ]);
  });

  it('ends a table after its last row without a paragraph reset', () => {
    const table = '\\trowd\\pard\\intbl a\\cell b\\cell\\row \\trowd c\\par d\\cell\\row ';

    expect(read(`${table}One\\par Two`)).toEqual([
      { type: 'table', headerLines: 0, text: 'a | b\nc d' },
      { type: 'paragraph', text: 'One' },
      { type: 'paragraph', text: 'Two' },
    ]);
  });

  it.each([
    ['a row', '\\trowd\\pard\\intbl a\\cell b', ['a', 'b']],
    ['a cell', '\\trowd\\pard\\intbl a\\par b', ['a b']],
    ['a text box', '{\\shp{\\*\\shpinst{\\shptxt\\pard\\intbl In the box}}}', ['In the box']],
  ])('keeps the text of %s without an end', (_, body, found) => {
    expect(read(body).map(({ text }) => text)).toEqual(found);
  });

  it.each(['\\footnote', '\\*\\footnote'])('puts footnotes after their paragraph (%s)', (word) => {
    const note = (text: string) => `{\\super\\chftn}{${word}\\pard\\chftn\\tab ${text}}`;

    expect(textOf(`One${note('first')} and two${note('second')}.\\par Next`)).toBe(
      'One[1] and two[2].\n\n[1] first\n\n[2] second\n\nNext',
    );
  });

  it('reads text boxes once, after their paragraph', () => {
    const box =
      '{\\shp{\\*\\shpinst{\\sp{\\sn a}{\\sv 1}}{\\shptxt\\pard In the box\\par}}{\\shprslt In the box\\par}}';

    expect(textOf(`Around${box} it.`)).toBe('Around it.\n\nIn the box');
  });

  it('reads headers and footers once, without page numbers, and comments at the end', () => {
    const page = '{\\field{\\*\\fldinst PAGE }{\\fldrslt 7}}\\chpgn ';
    const margins = `{\\header Harbour rules\\par ${page}of it\\par}{\\headerf\\pard\\outlinelevel0 Harbour rules\\par}{\\footerr Marlow\\par}`;
    const comment =
      '{\\*\\atnid AV}{\\*\\atnauthor Ann Venn}\\chatn{\\*\\annotation{\\*\\atndate 123}\\pard Ask \\b first\\b0 .}';

    expect(textOf(`${margins}First.${comment}\\par{\\footer Marlow\\par}Last.{\\footnote A note}`)).toBe(
      ['Harbour rules', 'of it', 'First.', 'Last.', 'A note', 'Marlow', 'Comment by Ann Venn: Ask first.'].join('\n\n'),
    );
  });

  it('leaves out hidden, deleted and non-document text', () => {
    const noise =
      '{\\info{\\author X}}{\\*\\unknown U}{\\pict 89504e47}{\\v hidden}{\\deleted gone}{\\colortbl;\\red0;}';

    expect(textOf(`${noise}Seen {\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt link}}\\v  a\\v0  b\\bin5 {{{{{!`)).toBe(
      'Seen link b!',
    );
  });
});

describe('bad input', () => {
  it.each([
    ['text', 'no RTF'],
    ['nothing', ''],
    ['a Word document', '\xd0\xcf\x11\xe0'],
  ])('refuses as RTF %s', (_, content) => {
    expect(() => parse(content)).toThrow(UnreadableDocument);
    expect(() => parse(content)).toThrow(/not Rich Text Format/);
  });

  it('refuses a truncated document', () => {
    expect(() => parse('{\\rtf1 a {\\b b')).toThrow(/is truncated/);
  });

  it('refuses a document that is nested too deeply', () => {
    expect(() => parse(`{\\rtf1 ${'{'.repeat(100_000)}a${'}'.repeat(100_000)}}`)).toThrow(/nested more than 256/);
  });

  it.each([
    '\\bin999999999 x',
    '\\bin-5 x',
    "\\'zz",
    '\\u',
    '\\u99999999999?',
    '}}}',
    '\\row\\cell\\row',
    '\\f99 a',
    '\\',
  ])('survives in RTF %s', (content) => {
    const read = () => {
      try {
        return parse(`{\\rtf1 a ${content}}`);
      } catch (error) {
        if (!(error instanceof UnreadableDocument)) throw error;
      }
    };

    expect(read).not.toThrow();
  });

  it('reads a picture of 20 MB on lines in linear time', () => {
    const picture = `{\\pict\n${`${'0'.repeat(78)}\n`.repeat(250_000)}}`;

    expect(textOf(`a${picture}b`)).toBe('ab');
  });
});
