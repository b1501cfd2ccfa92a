import fc from 'fast-check';
import { type Block, type BlockType } from '@parley/documents/block';
import { parseMarkdown } from '@parley/documents/parse-markdown';
import { parseSource } from '@parley/documents/parse-source';
import { type Chunk, type ChunkOptions, chunk as chunkLazily, chunkStream } from './chunker';

const chunk = (blocks: Block[], options: ChunkOptions) => [...chunkLazily(blocks, options)];
const range = (length: number) => Array.from({ length }, (_, i) => i + 1);
const paragraph = (text: string): Block => ({ type: 'paragraph', text });
const heading = (level: number, text: string): Block => ({ type: level === 1 ? 'title' : 'subtitle', level, text });
const contents = (blocks: Block[], maximumLength = 100, minimumParagraphLength?: number) =>
  chunk(blocks, { maximumLength, minimumParagraphLength }).map(({ content }) => content);

describe('headings', () => {
  it('keeps headings with the text below them and in the breadcrumb of later chunks', () => {
    const sentence = 'This sentence has exactly fifty characters, no more.';
    const blocks = [heading(1, 'Top'), heading(2, 'Sub'), paragraph([sentence, sentence, sentence].join(' '))];

    expect(chunk(blocks, { maximumLength: 100 })).toEqual([
      { content: `Top\n\nSub\n\n${sentence}`, subtype: 'paragraph', position: 0, breadcrumb: [] },
      { content: sentence, subtype: 'paragraph', position: 1, breadcrumb: ['Top', 'Sub'] },
      { content: sentence, subtype: 'paragraph', position: 2, breadcrumb: ['Top', 'Sub'] },
    ]);
  });

  it('makes a chunk of a heading at the very end', () => {
    const chunks = chunk([heading(1, 'Top'), paragraph('text'), heading(2, 'End')], { maximumLength: 100 });

    expect(chunks[1]).toEqual({ content: 'End', subtype: 'subtitle', position: 1, breadcrumb: ['Top'] });
  });

  it('makes a chunk of a heading that a higher heading follows', () => {
    expect(contents([heading(3, 'Empty'), heading(2, 'Next'), paragraph('text')])).toEqual(['Empty', 'Next\n\ntext']);
  });

  it('removes headings from the breadcrumb when one of the same or a higher level follows', () => {
    const blocks = [
      [1, 'A'],
      [2, 'B'],
      [3, 'C'],
      [2, 'D'],
      [1, 'E'],
    ].flatMap(([level, text]) => [
      heading(level as number, text as string),
      paragraph('first'.repeat(20)),
      paragraph('second'.repeat(16)),
    ]);

    const below = chunk(blocks, { maximumLength: 100 }).filter(({ content }) => content.startsWith('second'));

    expect(below.map(({ breadcrumb }) => breadcrumb.join())).toEqual(['A', 'A,B', 'A,B,C', 'A,D', 'E']);
  });

  it('truncates very long headings in the breadcrumb', () => {
    const chunks = chunk([heading(1, 'long '.repeat(1000)), paragraph('text')], { maximumLength: 1000 });

    expect(chunks).toHaveLength(6);
    expect(
      chunk([heading(1, 'long '.repeat(1000)), paragraph('a '.repeat(3000))], { maximumLength: 1000 }).at(-1)!
        .breadcrumb[0],
    ).toMatch(/^(long ?){30,40}…$/);
  });
});

describe('paragraphs', () => {
  it('merges paragraphs while they are short', () => {
    const blocks = ['a', 'b', 'c'].map((letter) => paragraph(letter.repeat(30)));

    expect(contents(blocks, 100, 50)).toEqual([`${'a'.repeat(30)}\n\n${'b'.repeat(30)}\n\n${'c'.repeat(30)}`]);
    expect(contents(blocks, 100, 20)).toEqual(['a'.repeat(30), 'b'.repeat(30), 'c'.repeat(30)]);
  });

  it('does not merge paragraphs across a heading', () => {
    expect(contents([paragraph('a'), heading(2, 'H'), paragraph('b')])).toEqual(['a', 'H\n\nb']);
  });

  it('cuts paragraphs after a sentence, even when lines end elsewhere', () => {
    const text =
      'The first sentence is\nwritten over two lines. The second one\nis, too, and it is longer than the first one.';

    expect(contents([paragraph(text)])).toEqual([
      'The first sentence is\nwritten over two lines.',
      'The second one\nis, too, and it is longer than the first one.',
    ]);
  });

  it('fills a chunk to the last character of a sentence', () => {
    const full = `Short. ${'A'.repeat(92)}.`;

    expect(contents([paragraph(`${full}  Then more.`)])).toEqual([full, 'Then more.']);
  });

  it('cuts a paragraph at a line end when a sentence is too long', () => {
    const lines = range(20).map((n) => `${n} is a line of a list without marks`);

    expect(contents([paragraph(lines.join('\n'))]).flatMap((piece) => piece.split('\n'))).toEqual(lines);
  });

  it('cuts a paragraph between words when a sentence is too long', () => {
    const pieces = contents([paragraph(range(100).join(' '))]);

    expect(pieces.join(' ')).toBe(range(100).join(' '));
    expect(pieces[0]!.length).toBeGreaterThan(95);
  });

  it('does not cut inside a surrogate pair, even when one character fills several chunks', () => {
    const pieces = contents([paragraph('👩\u200d'.repeat(100))]);

    expect(pieces).toHaveLength(4);
    expect(pieces.some((piece) => /\p{Surrogate}/u.test(piece))).toBe(false);
  });

  it.each(['👩‍👩‍👧‍👦', '🏳️‍🌈', 'e\u0301', '🧀'])('does not cut inside %s', (grapheme) => {
    const pieces = contents([paragraph(`x${grapheme.repeat(200)}`)]);

    for (const piece of pieces) expect(piece.replace('x', '').replaceAll(grapheme, '')).toBe('');
  });
});

describe('tables', () => {
  it('repeats the header of a table in each piece of 300 rows', () => {
    const rows = range(300).map((n) => `row ${n} | value ${n}`);
    const table: Block = { type: 'table', text: ['Name | Value', ...rows].join('\n'), headerLines: 1 };

    const pieces = contents([heading(1, 'Prices'), table], 200);

    expect(pieces[0]).toMatch(/^Prices\n\nName \| Value\nrow 1 /);
    expect(pieces.slice(1).every((piece) => piece.startsWith('Name | Value\nrow '))).toBe(true);
    expect(pieces.join('\n').match(/^row \d+ .*$/gm)).toEqual(rows);
  });

  it('does not repeat a table header that fills half of the chunk', () => {
    const table: Block = {
      type: 'table',
      text: `${'h'.repeat(60)}\n${'a'.repeat(60)}\n${'b'.repeat(60)}`,
      headerLines: 1,
    };

    expect(contents([table])).toEqual(table.text.split('\n'));
  });

  it('cuts a table row that is too long, below the header', () => {
    const table: Block = { type: 'table', text: `H\nshort\n${'word '.repeat(50)}`, headerLines: 1 };

    const pieces = contents([table]);

    expect(pieces.every((piece) => piece.startsWith('H\n') && piece.length <= 100)).toBe(true);
    expect(pieces.join(' ').match(/word/g)).toHaveLength(50);
  });
});

it('cuts a list between its items', () => {
  const items = range(20).map((n) => `- item ${n} has\n  another line`);

  const pieces = contents([{ type: 'list', text: items.join('\n') }]);

  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.flatMap((piece) => piece.split(/\n(?=- )/))).toEqual(items);
});

it('cuts a code fence of 200 lines at line ends', () => {
  const code = range(200).map((n) => `${'  '.repeat(n % 4)}line(${n}); a. b.`);

  const chunks = chunk([{ type: 'code', text: code.join('\n') }], { maximumLength: 300 });

  expect(chunks.length).toBeGreaterThan(10);
  expect(chunks.flatMap(({ content }) => content.split('\n'))).toEqual(code);
  expect(chunks.every(({ subtype }) => subtype === 'code')).toBe(true);
});

it('takes the subtype of a chunk from its largest block, and the page number from its first block', () => {
  const blocks: Block[] = [
    { type: 'title', text: 'A title that is the longest of all the blocks', pageNumber: 2 },
    { type: 'paragraph', text: 'See:', pageNumber: 2 },
    { type: 'list', text: '- one\n- two', pageNumber: 3 },
  ];

  expect(chunk(blocks, { maximumLength: 100 })).toMatchObject([{ subtype: 'list', pageNumber: 2 }]);
});

it('rejects a maximum length that is too small', () => {
  expect(() => chunk([], { maximumLength: 99 })).toThrow(RangeError);
});

it('splits one line of 2 MB into chunks', () => {
  expect(contents([paragraph('word '.repeat(400_000))], 1000)).toHaveLength(2_000);
  expect(contents([paragraph('x'.repeat(2_000_000))], 1000)).toHaveLength(2_000);
});

describe('for any document', () => {
  const types: BlockType[] = ['title', 'subtitle', 'paragraph', 'list', 'table', 'code', 'blockquote', 'page'];
  const word = fc.oneof(
    { weight: 6, arbitrary: fc.lorem({ maxCount: 12, mode: 'sentences' }) },
    { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'x'.repeat(700),
        '👩‍👩‍👧‍👦'.repeat(60),
        'a\u0301\u0302'.repeat(90),
        'z' + '\u0301'.repeat(400),
      ),
    },
    { weight: 2, arbitrary: fc.constantFrom('\n', '\n\n', '- a', '1. b', ' \t ', '\u00a0', '\u3000', '    ', 'Dr. ') },
  );
  const text = fc
    .array(fc.tuple(word, fc.constantFrom(' ', '\n', '')), { maxLength: 25 })
    .map((all) => all.flat().join(''));
  const block: fc.Arbitrary<Block> = fc.record(
    {
      type: fc.constantFrom(...types),
      text,
      level: fc.integer({ min: 1, max: 6 }),
      headerLines: fc.integer({ min: 0, max: 3 }),
    },
    { requiredKeys: ['type', 'text'] },
  );
  const options = fc.record(
    {
      maximumLength: fc.constantFrom(100, 101, 137, 256, 1000, 5000),
      minimumParagraphLength: fc.integer({ min: 0, max: 600 }),
    },
    { requiredKeys: ['maximumLength'] },
  );
  const solid = (value: string) => value.replace(/\s/g, '');

  it('keeps every character once and in order, within the maximum length, except table headers', () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), options, (blocks, chosen) => {
        const chunks = chunk(blocks, chosen);

        const expected = solid(blocks.map((one) => one.text).join('\n'));
        let read = 0;
        for (const { content } of chunks) {
          const found = solid(content);
          const rest = expected.startsWith(found, read) ? found : withoutHeader(found, blocks, read);
          expect(expected.slice(read, read + rest.length)).toBe(rest);
          read += rest.length;
        }
        expect(read).toBe(expected.length);
        expect(chunks.every(({ content }) => content.length <= chosen.maximumLength && content.trim() !== '')).toBe(
          true,
        );
        expect(chunks.map(({ position }) => position)).toEqual(chunks.map((_, i) => i));
        expect(chunks.some(({ content }) => /\p{Surrogate}/u.test(content))).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('returns the same chunks each time, also for a stream of blocks', async () => {
    async function* slowly(blocks: Block[]) {
      for (const one of blocks) yield await Promise.resolve(one);
    }

    await fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 12 }), options, async (blocks, chosen) => {
        const chunks: Chunk[] = [];
        for await (const one of chunkStream(slowly(blocks), chosen)) chunks.push(one);

        expect(chunks).toEqual(chunk(blocks, chosen));
      }),
      { numRuns: 200 },
    );
  });

  it('makes a chunk of headings alone only if a higher one, nothing or nothing that fits follows', () => {
    const numbered = (blocks: Block[]) => blocks.map((one, i) => ({ ...one, text: `«${i}» ${one.text}` }));
    const body = fc.record({ type: fc.constantFrom<BlockType>('paragraph', 'list', 'code', 'table'), text });
    const title = fc.record({
      type: fc.constantFrom<BlockType>('title', 'subtitle'),
      text: fc.lorem({ maxCount: 4 }),
      level: fc.integer({ min: 1, max: 6 }),
    });

    fc.assert(
      fc.property(fc.array(fc.oneof(body, title), { maxLength: 12 }), options, (drawn, chosen) => {
        const blocks = numbered(drawn);
        const isHeading = (one: Block) => one.type === 'title' || one.type === 'subtitle';
        for (const { content, subtype } of chunk(blocks, chosen)) {
          if (subtype !== 'title' && subtype !== 'subtitle') continue;
          const places = Array.from(content.matchAll(/«(\d+)»/g), ([, place]) => Number(place));
          const next = blocks[(places.at(-1) ?? blocks.length) + 1];
          if (!next) continue;
          const higher = isHeading(next) && next.level! < blocks[places[0]!]!.level!;
          const full = content.length + 2 > chosen.maximumLength * 0.75;
          const fits = next.text.length + content.length + 2 <= chosen.maximumLength;
          expect(higher || (isHeading(next) ? !fits : full && !fits)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('repeats the header of any table in every piece', () => {
    const cell = fc.stringMatching(/^[a-z ]{1,30}[a-z]$/);
    const table = fc.array(fc.tuple(cell, cell), { minLength: 2, maxLength: 60 });

    fc.assert(
      fc.property(table, options, (rows, chosen) => {
        const header = 'Name | Value';
        const all = [header, ...rows.map((cells) => cells.join(' | '))].join('\n');

        const pieces = chunk([{ type: 'table', text: all, headerLines: 1 }], chosen);

        expect(pieces.every(({ content }) => content.startsWith(`${header}\n`))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('does not decrease page numbers', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(block, fc.nat(2)), { maxLength: 12 }), options, (drawn, chosen) => {
        let pageNumber = 1;
        const blocks = drawn.map(([one, turned]) => ({ ...one, pageNumber: (pageNumber += turned) }));

        const pages = chunk(blocks, chosen).map((one) => one.pageNumber!);

        expect(pages).toEqual(pages.toSorted((a, b) => a - b));
        expect(pages.every((page) => blocks.some((one) => one.pageNumber === page))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('loses no word of Markdown between parser and chunks', () => {
    const line = fc.constantFrom(
      '# W',
      '## W',
      'W W. W',
      '- W',
      '  - W',
      '> W',
      '| W | W |\n|---|---|\n| W | W |',
      '```\nW\n```',
      '',
    );

    fc.assert(
      fc.property(fc.array(line, { maxLength: 300 }), (all) => {
        let count = 0;
        const markdown = all.join('\n').replace(/W/g, () => `w${++count}w`);

        const joined = contents(parseMarkdown(markdown), 1000).join('\n');

        expect(joined.match(/w\d+w/g) ?? []).toEqual(range(count).map((n) => `w${n}w`));
      }),
      { numRuns: 200 },
    );
  });

  /** Removes a repeated header: only a chunk that begins inside a table, below its header, may begin with one. */
  function withoutHeader(found: string, blocks: Block[], read: number): string {
    let start = 0;
    for (const one of blocks) {
      const end = start + solid(one.text).length;
      if (one.type === 'table' && start < read && read < end) {
        const header = solid(
          one.text
            .replace(/^(?:[^\S\n]*\n)+/, '')
            .split('\n', one.headerLines ?? 0)
            .join(''),
        );
        if (read >= start + header.length && found.startsWith(header)) return found.slice(header.length);
      }
      start = end;
    }
    return found;
  }
});

it('returns chunks of whole functions', () => {
  const functions = Array.from({ length: 20 }, (_, i) => `function f${i}() {\n  const x = ${i};\n\n  return x;\n}`);

  const chunks = chunk([...parseSource([functions.join('\n\n')])], { maximumLength: 200 });

  for (const { content } of chunks) expect(content).toMatch(/^function[\s\S]*\}$/);
});
