import { embeddedText, embeddedTexts, toPoints } from './embedded-texts';

it.each([
  [['Top', 'Above'], 'Top > Above\n\nSub\n\ntext'],
  [['Top', 'Sub'], 'Top\n\nSub\n\ntext'],
  [['Su'], 'Su\n\nSub\n\ntext'],
  [[], 'Sub\n\ntext'],
])('writes each heading above a passage (%j) once', (breadcrumb, expected) => {
  const passage = { content: 'Sub\n\ntext', breadcrumb };

  expect(embeddedText(passage, { embedBreadcrumb: true })).toBe(expected);
  expect(embeddedText(passage, { embedBreadcrumb: false })).toBe(passage.content);
});

it('adds the requested neighbours of a passage, also those outside of the batch', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((content) => ({ content, breadcrumb: ['Top'] }));

  const texts = embeddedTexts([b!, c!], [a!], [d!], { chunking: { embeddedContextLevels: 1 } });

  expect(texts).toEqual(['a\n\nTop\n\nb\n\nc', 'b\n\nTop\n\nc\n\nd']);
});

it('lets other work run while the terms of long texts are found', async () => {
  const text = Array.from({ length: 12_000 }, (_, i) => String.fromCharCode(0x4e00 + (i % 9_000))).join('');
  const passages = Array.from({ length: 20 }, (_, position) => ({ position, text, vector: new Float32Array(1) }));
  let turns = 0;
  const count = setInterval(() => turns++, 0);

  const points = await toPoints({ botId: 'b', fileId: 'f', contentVersion: 'c' }, {}, passages);
  clearInterval(count);

  expect(points.map(({ terms }) => terms.indices.length)).toEqual(passages.map(() => 9_000));
  expect(turns).toBeGreaterThan(0);
});

describe('a text with neighbours', () => {
  const of = (...contents: string[]) => contents.map((content) => ({ content, breadcrumb: [] }));
  const withLevels = (embeddedContextLevels: number) => ({ chunking: { embeddedContextLevels } });

  it('fits a text into the limit of the model: all of its own text, then the nearest neighbours', () => {
    const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((letter) => letter.repeat(4_999));
    const [a, b, c, own, e, f, g] = of(...letters.map((text, n) => (n < 3 ? `${text}<` : `>${text}`)));

    const [text] = embeddedTexts([own!], [a!, b!, c!], [e!, f!, g!], withLevels(3));

    expect(text).toBe([c!.content, own!.content, e!.content.slice(0, 1_996)].join('\n\n'));
    expect(text).toHaveLength(12_000);
  });

  it('adds the adjoining end of a neighbour', () => {
    const [above, own] = of('xyz'.repeat(4_000), 'o'.repeat(11_993));

    expect(embeddedTexts([own!], [above!], [], withLevels(1))).toEqual([`yzxyz\n\n${own!.content}`]);
  });

  it('adds the second neighbours only after both first ones', () => {
    const [a, b, own, d, e] = of(
      'a'.repeat(3_000),
      'b'.repeat(3_000),
      'o'.repeat(3_000),
      'd'.repeat(100),
      'e'.repeat(9_000),
    );

    const [text] = embeddedTexts([own!], [a!, b!], [d!, e!], withLevels(2));

    const rest = 12_000 - 3_000 - 3_000 - 3_000 - 100 - 4 * 2;
    expect(text).toBe([a, b, own, d].map((passage) => passage!.content).join('\n\n') + `\n\n${'e'.repeat(rest)}`);
  });

  it('keeps the longest passage that may be set complete', () => {
    const [own, after] = of('o'.repeat(10_000), 'n'.repeat(10_000));

    expect(embeddedTexts([own!], [], [after!], withLevels(1))).toEqual([`${own!.content}\n\n${'n'.repeat(1_998)}`]);
  });

  it('truncates a passage that is too long alone, without splitting a character', () => {
    const [long, even, odd] = of(`o${'😀'.repeat(7_000)}`, '😀'.repeat(7_000), 'o'.repeat(11_991));

    const [cut] = embeddedTexts([long!], [], [], {});
    const [beside] = embeddedTexts([odd!], [even!], [even!], withLevels(1));

    expect(cut).toBe(`o${'😀'.repeat(5_999)}`);
    expect(beside).toBe(`😀😀😀\n\n${odd!.content}`);
  });
});
