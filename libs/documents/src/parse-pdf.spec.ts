import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { type DrawnText, pageHeight, pdfOf, pdfOfObjects } from '@parley/testing/pdf';
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { UnreadableDocument } from './block';
import { reasonOf } from './open-pdf';
import { parsePdf } from './parse-pdf';
import { blocksOf } from './pdf-layout';
import { type Line, linesOf } from './pdf-lines';

jest.mock<object>('./limits', () => ({
  ...jest.requireActual<object>('./limits'),
  mostArchiveBytes: 5_120_000,
  mostArchiveEntryBytes: 2_000_000,
}));

const fixture = (name: string) => readFileSync(join(__dirname, '../../../test/fixtures/documents', name));

/** Page; block type with heading level or header lines; text. */
type Seen = [page: number, type: string, text: string];

async function read(bytes: Buffer): Promise<Seen[]> {
  const blocks = await parsePdf(bytes);
  return blocks.map(({ pageNumber, type, level, headerLines, text }) => {
    const number = level ?? headerLines;
    return [pageNumber!, number === undefined ? type : `${type} ${number}`, text];
  });
}

const texts = async (bytes: Buffer) => (await parsePdf(bytes)).map(({ text }) => text);

function lines(drawn: string[], { x = 72, y = 700, size = 10, step = 12 } = {}): DrawnText[] {
  return drawn.map((text, i) => ({ text, x, y: y - i * step, size }));
}

it('reads every block of a document made by LibreOffice, in order and with its page', async () => {
  expect(await read(fixture('handbook.pdf'))).toEqual([
    [1, 'paragraph', 'Handbook of the Marlow Light'],
    [1, 'title 1', 'Keeping the Lighthouse of Marlow'],
    [
      1,
      'paragraph',
      'The lighthouse stands on a rock of granite two miles west of the quay. This handbook tells its keepers what to do on a calm day, on a foggy night and when the supply boat is late. It replaces the loose notes that earlier keepers pinned to the kitchen door.',
    ],
    [
      1,
      'paragraph',
      'Read it once from the first page to the last. Afterwards the table of signals and the two lists are what you will need most.',
    ],
    [1, 'subtitle 2', 'Daily work'],
    [
      1,
      'paragraph',
      'Work begins an hour before sunset and ends an hour after sunrise. Whoever has the watch writes the weather, the visibility and every passing vessel into the logbook, and signs each entry with full name.',
    ],
    [1, 'subtitle 3', 'Before sunset'],
    [
      1,
      'list',
      '- Clean the lens with spirit and a linen cloth, never with water, because salt leaves streaks that scatter the beam over the wrong part of the sea.\n- Check the supplies:\n  - oil for three nights\n  - two spare wicks\n  - matches in the tin box\n- Wind up the clockwork.',
    ],
    [1, 'subtitle 3', 'After sunrise'],
    [
      1,
      'list',
      '1. Put out the flame and draw the curtains.\n2. Measure the oil that is left and note it down.\n3. Polish the brass while it is still warm, which takes half of the time that it takes when it has become cold.',
    ],
    [1, 'paragraph', 'Harbour Office – page 1 of 4'],
    [2, 'subtitle 2', 'Signals'],
    [2, 'paragraph', 'Ships that ask for something hoist flags. Answer within five minutes; the table says how.'],
    [
      2,
      'table 1',
      'Flag | Meaning | Answer\nBlue cross | needs a pilot | two short flashes\nRed square | has a doctor on board | one long flash\nWhite diamond | is aground and asks for help as soon as the tide allows | fire a rocket\nYellow | clear of illness | none',
    ],
    [
      2,
      'paragraph',
      'A flag that is not in the table is to be drawn into the logbook, so that the harbour office can tell what it was.',
    ],
    [3, 'subtitle 2', 'Stories of the rock'],
    [3, 'paragraph', 'The following pieces appeared in the parish paper and are printed here as they were.'],
    [
      3,
      'paragraph',
      'In the winter of the great frost the supply boat could not leave the harbour for seventeen days. The keepers burned the kitchen chairs, then the shelves, and at last the wooden leg of the barometer stand. They were said to have been rather cheerful about it.',
    ],
    [
      3,
      'paragraph',
      'The goat that lived on the rock in those years ate seaweed and, on one occasion, a corner of the logbook. The missing entries were later reconstructed from the memory of a fisherman who had been passing regularly.',
    ],
    [
      3,
      'paragraph',
      'When the electric lamp was proposed, the oldest keeper wrote a long letter to the commissioners. He argued that a flame can be seen to be alive, whereas a filament cannot be told from a reflection. The commissioners thanked him for his well-considered words and installed the lamp.',
    ],
    [
      3,
      'paragraph',
      'Visitors are welcome on the first Sunday of a month. They should bring bread, newspapers and their own chairs. A well-considered visit lasts for one tide and no longer, because the landing place is under water for the rest of the day.',
    ],
    [
      3,
      'paragraph',
      'The gannets return in the middle of February. From that day on the western gallery is closed, and whoever has to clean its windows wears a hat.',
    ],
    [4, 'subtitle 2', 'Pflichten der Wärter'],
    [
      4,
      'paragraph',
      'Der Leuchtturmwärter überwacht nachts sämtliche Schiffsbewegungen zwischen der Hafeneinfahrt und den vorgelagerten Sandbänken. Auffälligkeiten werden unverzüglich dem Hafenmeisteramt gemeldet; Verzögerungen gelten als Dienstpflichtverletzung. Vor- und Nachmittagswachen wechseln wöchentlich.',
    ],
    [
      4,
      'paragraph',
      'Wartungsarbeiten an der Beleuchtungseinrichtung dürfen ausschließlich bei Tageslicht vorgenommen werden. Ersatzteile lagern im Untergeschoss, Verbrauchsmaterialien im Geräteschuppen neben der Anlegestelle. Straßenschuhe bleiben draußen.',
    ],
    [4, 'subtitle 3', 'Anhang'],
    [4, 'paragraph', 'Weiterführende Vorschriften enthält die Leuchtfeuerverordnung.'],
  ]);
});

it('reads two columns, a list and a table made by groff', async () => {
  expect(await read(fixture('almanac.pdf'))).toEqual([
    [1, 'title 1', 'An Almanac of Tides'],
    [1, 'paragraph', 'The Harbour Board'],
    [
      1,
      'paragraph',
      'This almanac is printed every year. It lists what a pilot has to know about the water between the two headlands.',
    ],
    [1, 'subtitle 2', '1. Spring tides'],
    [
      1,
      'paragraph',
      'Spring tides follow the full moon and the new moon by a day and a half. The water then rises above the lower steps of the quay, and carts may not be left on the slip. Boats that are moored with short lines have been lifted by their cleats, so give them slack before the evening.',
    ],
    [
      1,
      'paragraph',
      'After a storm from the west the flood arrives up to twenty minutes early. The bell at the customs house is rung when the gauge passes eleven feet, and everybody who owns a cellar near the fish market closes its shutters.',
    ],
    [1, 'subtitle 2', '2. Neap tides'],
    [
      1,
      'paragraph',
      'At neap tides the difference between high and low water is hardly larger than a child. Large vessels then wait outside. Their crews are fetched with the cutter and pay a penny each.',
    ],
    [
      1,
      'list',
      '- Never anchor in the dredged channel.\n- Keep the lamp on the stern lit until the pilot has come on board and has seen it.',
    ],
    [1, 'subtitle 2', '3. Currents'],
    [
      1,
      'paragraph',
      'The current runs towards the north while the water rises. Behind the mole it turns into an eddy that has surprised many swimmers, though none of those who read this page beforehand. Fishermen use it to bring their nets home without rowing.',
    ],
    [2, 'paragraph', '-2-'],
    [2, 'paragraph', 'The heights in the following table are given in feet.'],
    [
      2,
      'table 1',
      'Month | High | Low\nJanuary | 11.2 | 2.1\nFebruary | 11.9 | 1.8\nMarch | 12.4 | 1.1\nApril | 12.0 | 1.4',
    ],
  ]);
});

it('reads German, Japanese, Chinese, Hebrew, Arabic and ligatures', async () => {
  expect(await read(fixture('languages.pdf'))).toEqual([
    [1, 'title 1', 'Languages of the harbour'],
    [1, 'subtitle 2', 'Deutsch'],
    [1, 'paragraph', 'Grüße aus Übersee: Die Möwen kreisen über der Mühle, während süßer Kakao verladen wird.'],
    [1, 'subtitle 2', '日本語'],
    [
      1,
      'paragraph',
      '港の灯台は毎晩九時に点灯します。船が霧の中で迷わないように、見張りの人は鐘を鳴らします。倉庫には米と茶と紙があります。',
    ],
    [1, 'subtitle 2', '中文'],
    [1, 'paragraph', '港口每天早上六点开放。所有货船必须先登记，然后才能卸货。茶叶存放在北边的仓库里。'],
    [1, 'subtitle 2', 'עברית'],
    [1, 'paragraph', 'הנמל נפתח בכל בוקר בשעה שש'],
    [1, 'subtitle 2', 'العربية'],
    [1, 'paragraph', 'يفتح الميناء كل صباح'],
    [1, 'subtitle 2', 'Ligatures'],
    [1, 'paragraph', 'The officer offered a first-class office; the final flight baffled fifteen offices.'],
  ]);
});

it('reads a spreadsheet without lines between its cells', async () => {
  expect(await read(fixture('prices.pdf'))).toEqual([
    [1, 'paragraph', 'prices'],
    [
      1,
      'table 1',
      'Article | Unit | Price | Stock\nRope | metre | 1.4 | 1200\nPitch | barrel | 35 | 14\nCanvas | roll | 88.5 | 9\nLamp oil | can | 12.25 | 310\nAnchor | piece | 240 | 3\nBell | piece | 75 | 6',
    ],
    [1, 'paragraph', 'Page 1'],
  ]);
});

it('reads text drawn twice only once, and rotated text separately', async () => {
  expect(await read(fixture('drawn.pdf'))).toEqual([
    [1, 'paragraph', 'Stamped twice to look bold'],
    [1, 'paragraph', 'An ordinary line follows the stamp and is not drawn again.'],
    [1, 'paragraph', 'Written along the edge of the chart'],
    [1, 'title 1', 'SPECIMEN'],
  ]);
});

it.each(['owner-password.pdf', 'rotated.pdf'])('reads %s like any other PDF', async (name) => {
  expect(await read(fixture(name))).toEqual([
    [1, 'title 1', 'Notice to Mariners'],
    [
      1,
      'paragraph',
      'The buoy at the northern sandbank has moved by forty yards. Until it is put back, pass it on its eastern side and keep the church tower in line with the mill.',
    ],
    [1, 'subtitle 2', 'Depths'],
    [1, 'paragraph', 'Soundings of last week show nine feet at low water along the whole quay.'],
  ]);
});

it.each([
  ['encrypted.pdf', 'needs a password to open. Upload a copy that is saved without a password'],
  [
    'scanned.pdf',
    'only images of pages, such as a scanner makes. Add the text with a program for text recognition (OCR)',
  ],
])('tells the owner what to do with %s', async (name, reason) => {
  const parsed = parsePdf(fixture(name));

  await expect(parsed).rejects.toThrow(UnreadableDocument);
  await expect(parsed).rejects.toThrow(reason);
});

it.each(['almanac.pdf', 'languages.pdf', 'prices.pdf', 'owner-password.pdf', 'rotated.pdf'])(
  'extracts exactly the letters of %s',
  async (name) => {
    const blocks = await texts(fixture(name));

    expect(letters(blocks)).toEqual(letters(await drawnTexts(fixture(name))));
  },
);

function letters(found: string[]): string {
  return Array.from(found.join('').matchAll(/[\p{L}\p{N}]/gu), ([letter]) => letter)
    .sort()
    .join('');
}

async function drawnTexts(bytes: Buffer): Promise<string[]> {
  const task = getDocument({ data: new Uint8Array(bytes), verbosity: 0 });
  const pdf = await task.promise;
  const found: string[] = [];
  for (let page = 1; page <= pdf.numPages; page++) {
    const { items } = await (await pdf.getPage(page)).getTextContent();
    found.push(...items.map((item) => ('str' in item ? item.str : '')));
  }
  await task.destroy();
  return found;
}

it.each([
  ['a word that was cut', ['The keeper of the light-', 'house sleeps.'], 'The keeper of the lighthouse sleeps.'],
  ['a soft hyphen', ['The keeper of the light\u00ad', 'house sleeps.'], 'The keeper of the lighthouse sleeps.'],
  [
    'a hyphen that is written elsewhere too',
    ['A well-known lamp, a well-', 'known keeper.'],
    'A well-known lamp, a well-known keeper.',
  ],
  ['a hyphen before a capital', ['The Anglo-', 'Saxon lamp.'], 'The Anglo-Saxon lamp.'],
  ['a hyphen that stands for a word', ['Sie kommen vor- ', 'und nachmittags.'], 'Sie kommen vor- und nachmittags.'],
  ['years', ['The years 1920-', '1930 were dry.'], 'The years 1920-1930 were dry.'],
])('joins lines at %s', async (_, drawn, expected) => {
  expect(await texts(pdfOf([lines(drawn)]))).toEqual([expected]);
});

it('reads columns drawn line by line one after the other', async () => {
  const left = [
    'The left column begins with this',
    'long line and goes on with some',
    'more of them until it is full of',
    'words that stand on the left.',
  ];
  const right = [
    'The right column is read only',
    'after the left one has ended on',
    'its last line, although it has',
    'been drawn at the same time.',
  ];
  const page = lines(left).flatMap((line, i) => [line, { ...line, x: 300, text: right[i]! }]);

  expect(await texts(pdfOf([page]))).toEqual([left.join(' '), right.join(' ')]);
});

it('continues a sentence in the next column and on the next page', async () => {
  const pages = [lines(['A sentence that is not over when']), lines(['its page is. The next one is', 'complete.'])];

  expect(await read(pdfOf(pages))).toEqual([
    [1, 'paragraph', 'A sentence that is not over when its page is. The next one is complete.'],
  ]);
});

it('reads large text of many lines as a paragraph, not as headings', async () => {
  const large = lines(
    [
      'This text is large and goes on for',
      'more lines than any heading has so',
      'that it must be something else, like',
      'a motto or the start of an article',
      'in a paper.',
    ],
    { size: 16, step: 19 },
  );
  const small = lines(
    Array.from({ length: 12 }, (_, i) => `Usual text of line ${i} that is longer than what is large.`),
    { y: 560 },
  );

  const found = await read(pdfOf([[...large, ...small]]));

  expect(found[0]).toEqual([1, 'paragraph', large.map(({ text }) => text).join(' ')]);
  expect(found.map(([, type]) => type)).not.toContain('title 1');
});

it('reads superscript and subscript within the line', async () => {
  const page = [
    { text: 'Water is H', x: 72, y: 700 },
    { text: '2', x: 119, y: 697, size: 6 },
    { text: 'O, as everybody knows', x: 122.5, y: 700 },
    { text: '7', x: 222.5, y: 704, size: 6 },
    { text: 'by now.', x: 72, y: 688 },
  ];

  expect(await texts(pdfOf([page]))).toEqual(['Water is H2O, as everybody knows7 by now.']);
});

it('joins the lines of a table cell', async () => {
  const cell = (text: string, column: number, y: number): DrawnText => ({ text, x: 72 + 150 * column, y });
  const rows = [
    [cell('Rope', 0, 700), cell('of hemp, twisted', 1, 700), cell('in three strands', 1, 688)],
    [cell('Anchor', 0, 664), cell('of iron', 1, 664)],
    [cell('Bell', 0, 640), cell('of brass', 1, 640)],
  ];

  expect(await read(pdfOf([rows.flat()]))).toEqual([
    [1, 'table 0', 'Rope | of hemp, twisted in three strands\nAnchor | of iron\nBell | of brass'],
  ]);
});

it('ends a table before a list below it, and keeps a list in its last cell', async () => {
  const row = (cells: string[], y: number) => cells.map((text, i) => ({ text, x: 72 + i * 150, y }));
  const rows = [row(['Carpet', 'Knots'], 700), row(['Runner', '240'], 686), row(['Floor', '1100'], 672)];
  const list = (x: number) => lines(['\x95 Needle', '\x95 Walnut shell'], { x, y: 659, step: 13 });
  const inCell = [...rows.slice(0, 2), row(['Floor', '\x95 Hall'], 672)];

  expect(await read(pdfOf([[...rows.flat(), ...list(82)]]))).toEqual([
    [1, 'table 1', 'Carpet | Knots\nRunner | 240\nFloor | 1100'],
    [1, 'list', '- Needle\n- Walnut shell'],
  ]);
  expect(await texts(pdfOf([[...inCell.flat(), ...list(222)]]))).toEqual([
    'Carpet | Knots\nRunner | 240\nFloor | • Hall • Needle • Walnut shell',
  ]);
});

it('reads tables and lists of a page from right to left', async () => {
  const bytes = readFileSync(join(__dirname, '../../../test/fixtures/corpus/pomegranate.libreoffice.pdf'));

  expect(await texts(bytes)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^1\. לחתוך את הכתר בזהירות\.\n2\. להפריד/),
      'חלקה | ארגזים | מחיר\nמערבית | 310 | 28\nצפונית | 275 | 31\nסלעית | 64 | 19',
      '- מזמרה\n- כפפות עור\n- דליים נקיים',
    ]),
  );
});

it('does not read two lines in two columns as a table', async () => {
  const page = [...lines(['Name', 'Place']), ...lines(['Marlow', 'Quay'], { x: 200 })];

  expect(await read(pdfOf([page]))).toEqual([
    [1, 'paragraph', 'Name Marlow'],
    [1, 'paragraph', 'Place Quay'],
  ]);
});

it('reads form values at the position of their fields', async () => {
  const drawn =
    'BT /F 10 Tf 72 700 Td (Name:) Tj 0 -30 Td (City:) Tj 0 -30 Td (Remarks:) Tj 0 -60 Td (Married:) Tj 0 -30 Td (Secret:) Tj ET';
  const field = (y: number, rest: string, height = 20) =>
    `<< /Type /Annot /Subtype /Widget /F 4 /Rect [150 ${y - 6} 350 ${y - 6 + height}] /T (f${y}) ${rest} >>`;
  const box = (y: number, isOn: boolean) =>
    field(
      y,
      `/FT /Btn /V /${isOn ? 'Yes' : 'Off'} /AS /${isOn ? 'Yes' : 'Off'} /AP << /N << /Yes 6 0 R /Off 6 0 R >> >>`,
    );
  const fields = [
    field(700, '/FT /Tx /V (Rumpelstiltskin)'),
    field(670, '/FT /Ch /Ff 131072 /V (b) /Opt [[(b) (Berlin)] [(p) (Paris)]]'),
    field(640 - 40, '/FT /Tx /Ff 4096 /V (Spins straw\\nto gold)', 56),
    box(580, true),
    box(520, false),
    field(550, '/FT /Tx /Ff 8192 /V (password)'),
    field(490, '/FT /Tx /V (unseen)').replace('/F 4', '/F 2'),
  ];
  const ids = fields.map((_, i) => `${7 + i} 0 R`).join(' ');

  const found = await texts(
    pdfOfObjects([
      `<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [${ids}] >> >>`,
      '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> /Annots [${ids}] >>`,
      `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
      '<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 0 >>\nstream\n\nendstream',
      ...fields,
    ]),
  );

  expect(found).toEqual([
    'Name: | Rumpelstiltskin\nCity: | Berlin\nRemarks: | Spins straw to gold',
    'Married: ☒',
    'Secret:',
  ]);
});

describe('a free-text annotation', () => {
  const helvetica = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';
  const written = (y: number, rest: string, height = 20) =>
    `<< /Type /Annot /Subtype /FreeText /F 4 /Rect [150 ${y - 6} 350 ${y - 6 + height}] /DA (/F 10 Tf 0 g) ${rest} >>`;
  const stream = (content: string, rest = '') =>
    `<< /Length ${content.length} ${rest} >>\nstream\n${content}\nendstream`;
  const appearance = (text: string) =>
    stream(
      `BT /F 10 Tf 2 6 Td (${text}) Tj ET`,
      '/Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F 3 0 R >> >>',
    );

  function pdfWith(pages: [drawn: string, annotations: string[]][], { looks = 'null', catalog = '' } = {}): Buffer {
    const first = 5;
    const kids = pages.map((_, i) => `${first + 2 * i} 0 R`).join(' ');
    const shown = pages.flatMap(([drawn, annotations], i) => [
      `<< /Type /Page /Parent 2 0 R /Contents ${first + 2 * i + 1} 0 R /Annots [${annotations.join(' ')}] >>`,
      stream(drawn && `BT /F 10 Tf 72 700 Td (${drawn}) Tj ET`),
    ]);
    return pdfOfObjects([
      `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
      `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} /MediaBox [0 0 612 792] /Resources << /Font << /F 3 0 R >> >> >>`,
      helvetica,
      looks,
      ...shown,
    ]);
  }

  it('reads a free-text annotation at its position', async () => {
    const name = written(699, '/Contents (Rumpelstiltskin)');
    const remark = written(560, '/Contents (Spins straw\rto gold)', 60);
    const link = '<< /Type /Annot /Subtype /Link /Rect [72 690 90 710] /A << /S /URI /URI (http://x.test) >> >>';

    expect(
      await read(
        pdfWith([
          ['Name:', [link, name, remark]],
          ['The end.', []],
        ]),
      ),
    ).toEqual([
      [1, 'paragraph', 'Name: Rumpelstiltskin'],
      [1, 'paragraph', 'Spins straw to gold'],
      [2, 'paragraph', 'The end.'],
    ]);
  });

  it.each([
    ['as it is drawn', appearance('as drawn'), 'as drawn'],
    ['by what it says where nothing is drawn', stream('', '/Subtype /Form /BBox [0 0 9 9]'), 'as said'],
  ])('reads a free-text annotation %s, even on a page without text', async (_, looks, text) => {
    const page = written(700, '/Contents (as said) /AP << /N 4 0 R >>');

    expect(
      await read(
        pdfWith(
          [
            ['', []],
            ['', [page]],
          ],
          { looks },
        ),
      ),
    ).toEqual([[2, 'paragraph', text]]);
  });

  it('reads a free-text annotation besides form fields', async () => {
    const looks = '<< /Type /Annot /Subtype /Widget /F 4 /Rect [150 664 350 684] /T (f) /FT /Tx /V (Berlin) >>';
    const form = pdfWith([['Form', ['4 0 R', written(600, '/Contents (see below)')]]], {
      looks,
      catalog: '/AcroForm << /Fields [4 0 R] >>',
    });

    expect((await texts(form)).join('\n')).toBe('Form\nBerlin\nsee below');
  });

  it.each(['/F 2', '/F 32', '/Subtype /Popup'])('ignores a free-text annotation hidden by %s', async (entry) => {
    const name = entry.split(' ')[0]!;
    const hidden = written(600, '/Contents (unseen)').replace(new RegExp(`${name} \\w+|${name} /\\w+`), entry);

    expect(await texts(pdfWith([['Shown', [hidden, written(500, '/Contents (too)')]]]))).toEqual(['Shown', 'too']);
  });
});

describe('comments of readers', () => {
  const comment = (subtype: string, entries: string) =>
    `<< /Type /Annot /Subtype /${subtype} /Rect [60 650 80 670] /QuadPoints [60 670 80 670 60 650 80 650] ${entries} >>`;
  const pdfWith = (annotations: string[]) =>
    pageOf('BT /F 12 Tf 72 700 Td (The pier is closed and) Tj ET', { annotations });

  it.each(['Text', 'Highlight', 'Underline', 'StrikeOut', 'Squiggly', 'Square', 'Circle', 'Ink', 'Caret', 'Stamp'])(
    'reads a comment of the type %s after the text of its page',
    async (subtype) => {
      const pdf = pdfWith([comment(subtype, '/Contents (Ask the pilot\rfirst) /T (Ann)')]);

      expect(await read(pdf)).toEqual([
        [1, 'paragraph', 'The pier is closed and'],
        [1, 'paragraph', 'Ann: Ask the pilot\nfirst'],
      ]);
    },
  );

  it.each(['/Contents (pier is closed)', '/Contents ( )', '/Contents (no) /F 2', '/T (Ann)'])(
    'leaves out a comment with %s',
    async (entries) => {
      expect(await texts(pdfWith([comment('Highlight', entries)]))).toEqual(['The pier is closed and']);
    },
  );
});

describe('characters drawn twice', () => {
  const widths: Record<string, number> = { s: 500, t: 278, i: 222, l: 222 };
  const each = (text: string, draw: (letter: string, x: number) => string, step = 10) =>
    [...text].map((letter, i) => (letter === ' ' ? '' : draw(letter, 72 + i * step))).join('\n');
  const letter = (character: string, x: number, y = 700) => `BT /F 14 Tf ${x} ${y} Td (${character}) Tj ET`;

  it.each<[string, string, string]>([
    ['letter by letter', each('HARBOUR', (c, x) => letter(c, x) + letter(c, x + 0.4)), 'HARBOUR'],
    [
      'three times',
      each('HARBOUR', (c, x) => letter(c, x) + letter(c, x + 0.3) + letter(c, x + 0.6, 700.3)),
      'HARBOUR',
    ],
    [
      'in two rounds',
      each('HARBOUR', (c, x) => letter(c, x)) + each('HARBOUR', (c, x) => letter(c, x + 0.5)),
      'HARBOUR',
    ],
    [
      'as a whole and by letters',
      `BT /M 14 Tf 72 700 Td (HARBOUR) Tj ET ${each('HARBOUR', (c, x) => letter(c, x + 0.4).replace('/F', '/M'), 8.4)}`,
      'HARBOUR',
    ],
    [
      'in one string that goes back',
      `BT /F 14 Tf 72 700 Td [${[...'stilllit'].map((c) => `(${c}) ${widths[c]! - 30} (${c}) 30`).join(' ')}] TJ ET`,
      'stilllit',
    ],
    [
      'by words below an invisible layer of lines',
      'BT /F 12 Tf 72 700 Td (Fees of) Tj ET BT /F 12 Tf 118 700 Td (berths) Tj ET ' +
        'BT 3 Tr /F 12 Tf 72.3 700.5 Td (Fees of berths) Tj ET',
      'Fees of berths',
    ],
  ])('reads text drawn twice %s once', async (_, content, expected) => {
    expect(await texts(pageOf(content))).toEqual([expected]);
  });

  it.each(['AABBCC', 'Mississippi', 'bookkeeper 1100', 'ill will', '|||'])(
    'keeps the double letters of %s',
    async (text) => {
      expect(await texts(pageOf(`BT /F 14 Tf 72 700 Td (${text}) Tj ET`))).toEqual([text]);
      expect(await texts(pageOf(each(text, (c, x) => letter(c, x).replace('/F', '/M'), 8.4)))).toEqual([text]);
    },
  );
});

describe('replacement text', () => {
  it.each<[string, string, string]>([
    [
      'of a literal string',
      '/Span << /ActualText (lighthouse) >> BDC (l1ghth0us3) Tj EMC ( keeper) Tj',
      'lighthouse keeper',
    ],
    ['in UTF-16', '/Span << /ActualText <FEFF4E004E8C> >> BDC (ab) Tj EMC', '一二'],
    ['in UTF-8', '/Span << /ActualText <EFBBBFC3A4> >> BDC (ab) Tj EMC', 'ä'],
    ['in the encoding of PDF', '/Span << /ActualText (\\200\\223) >> BDC (ab) Tj EMC', '•ﬁ'.normalize('NFC')],
    [
      'beside a number',
      '/P << /MCID 0 /ActualText (one) >> BDC (1) Tj EMC /P << /MCID 1 >> BDC ( two) Tj EMC',
      'one two',
    ],
    ['of several strings', '(a ) Tj /Span << /ActualText (b) >> BDC (x) Tj (y) Tj EMC ( c) Tj', 'a b c'],
    [
      'that is nested',
      '/Span << /ActualText (out) >> BDC /Span << /ActualText (in) >> BDC (x) Tj EMC (y) Tj EMC',
      'out',
    ],
    ['that is empty', '(ab) Tj /Span << /ActualText () >> BDC (-) Tj EMC (c) Tj', 'abc'],
    ['that is a space', '(ab) Tj /Span << /ActualText ( ) >> BDC (_) Tj EMC (c) Tj', 'ab c'],
    ['of drawn shapes', '(ab ) Tj ET /Span << /ActualText (cd) >> BDC 10 10 5 5 re f EMC BT', 'ab cd'],
  ])('reads a replacement text %s in place of the characters', async (_, content, expected) => {
    expect(await texts(pageOf(`BT /F 14 Tf 72 700 Td ${content} ET`))).toEqual([expected]);
  });

  it('joins a word whose hyphen is replaced by a soft hyphen', async () => {
    const content =
      'BT /F 12 Tf 72 700 Td (The harbour of Marlow has a light) Tj /Span << /ActualText <FEFF00AD> >> BDC (-) Tj EMC ' +
      '0 -14 Td (house of stone that stands on a rock.) Tj ET';

    expect(await texts(pageOf(content))).toEqual([
      'The harbour of Marlow has a lighthouse of stone that stands on a rock.',
    ]);
  });

  it('reads the characters of a page on which 130,000 marks stay open', async () => {
    const marks = '/a << /ActualText (c) >> BDC '.repeat(130_000);

    expect(await texts(pageOf(`BT /F 14 Tf 72 700 Td ${marks} (word) Tj ET`))).toEqual(['word']);
  });

  it('does not read replacement texts of one page on the next', async () => {
    const page = (text: string) => [{ text, x: 72, y: 700 }];

    expect(await texts(pdfOf([page('One'), page('Two'), page('Three')]))).toEqual(['One', 'Two', 'Three']);
    expect(Map.prototype.get.name).toBe('get');
  });
});

describe('vertical text', () => {
  const columns = ['港は午前六時に開く。', '船は一列に並ぶこと。', '鐘が鳴ったら進む。'];
  const hex = (text: string) => Buffer.from(text, 'utf16le').swap16().toString('hex');
  const expected = [columns.join('')];

  it('reads columns of a vertical font from right to left', async () => {
    const content = columns.map((text, i) => `BT /V 12 Tf ${500 - 20 * i} 700 Td <${hex(text)}> Tj ET`).join('\n');

    expect(await texts(pageOf(content))).toEqual(expected);
  });

  it('reads characters of a horizontal font that are stacked', async () => {
    const content = columns.map((text, i) =>
      [...text].map((c, j) => `BT /J 12 Tf ${500 - 20 * i} ${700 - 13 * j} Td <${hex(c)}> Tj ET`).join('\n'),
    );

    expect(await texts(pageOf(content.join('\n')))).toEqual(expected);
  });
});

describe('an XFA form', () => {
  const template =
    '<template xmlns="http://www.xfa.org/schema/xfa-template/3.0/"><subform name="form1"><subform name="page">' +
    '<draw><value><text>Berth request</text></value></draw>' +
    '<draw><value><exData contentType="text/html"><body><p>Fill in</p><p>all <b>fields</b></p></body></exData></value></draw>' +
    '<field name="vessel"><caption><value><text>Name of vessel:</text></value></caption></field>' +
    '<field name="len"><bind match="dataRef" ref="$.length"/><caption><value><text>Length</text></value></caption></field>' +
    '<field name="flag"><caption><value><text>Flag</text></value></caption></field>' +
    '<field name="port"><value><text>Marlow</text></value></field></subform></subform></template>';
  const datasets =
    '<xfa:datasets xmlns:xfa="http://www.xfa.org/schema/xfa-data/1.0/"><xfa:data><form1><page><vessel>Albatross &amp; Co</vessel>' +
    '<length>12</length><crew>Ann</crew><crew>Bo</crew></page></form1></xfa:data></xfa:datasets>';
  const lines = [
    'Berth request\nFill in all fields\nName of vessel: Albatross & Co\nLength: 12\nFlag\nport: Marlow',
    'crew: Ann\ncrew: Bo',
  ];
  const wait = 'Please wait... If this message is not replaced, your viewer cannot show this form.';
  const xdp = (...packets: string[]) => `<xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/">${packets.join('')}</xdp:xdp>`;
  const formOf = (shown: string, xfa: string, others: string[] = []) =>
    pageOf(`BT /F 12 Tf 72 700 Td (${shown}) Tj ET`, { catalog: `/AcroForm << /Fields [] /XFA ${xfa} >>`, others });

  it.each<[string, string, string[], string[]]>([
    ['in one stream', '9 0 R', [stream(xdp(template, datasets))], lines],
    [
      'in packets',
      '[(preamble) 9 0 R (template) 10 0 R (datasets) 11 0 R (postamble) 12 0 R]',
      ['<xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/">', template, datasets, '</xdp:xdp>'].map((part) => stream(part)),
      lines,
    ],
    ['of data alone', '9 0 R', [stream(xdp(datasets))], ['vessel: Albatross & Co\nlength: 12\ncrew: Ann\ncrew: Bo']],
  ])('reads captions and values of a form %s in place of a request to wait', async (_, xfa, others, expected) => {
    expect(await texts(formOf(wait, xfa, others))).toEqual(expected);
  });

  it('reads those lines of a form that the page does not show', async () => {
    const shown = 'Berth request. Fill in all fields. Name of vessel: Albatross & Co. Length: 12 Flag Marlow Ann';

    expect(await texts(formOf(shown, '9 0 R', [stream(xdp(template, datasets))]))).toEqual([shown, 'crew: Bo']);
  });

  it.each([
    ['damaged XML', '<xdp:xdp><template>'],
    ['entities', `<!DOCTYPE a [<!ENTITY x "ha">]>${xdp(datasets)}`],
    ['XML nested 100,000 deep', '<a>'.repeat(100_000)],
    ['no XML', ''],
  ])('reads the pages of a form with %s', async (_, xfa) => {
    expect(await texts(formOf('Shown', '9 0 R', [stream(xfa)]))).toEqual(['Shown']);
  });
});

it.each<[string, string, RegExp]>([
  ['drawings', '60 690 300 30 re f', /no text, only drawings: .*Export it again with text as text/],
  ['empty pages', '', /its pages are empty/],
  ['images', 'q 100 0 0 100 0 0 cm /Im Do Q', /only images of pages/],
  ['inline images', 'q 9 0 0 9 0 0 cm BI /W 2 /H 2 /BPC 8 /CS /G ID abcd EI Q 1 1 5 5 re f', /only images of pages/],
])('says that a PDF has only %s', async (_, content, reason) => {
  const image = stream(
    'abcd',
    '/Type /XObject /Subtype /Image /Width 2 /Height 2 /BitsPerComponent 8 /ColorSpace /DeviceGray',
  );

  await expect(parsePdf(pageOf(content, { resources: '/XObject << /Im 9 0 R >>', others: [image] }))).rejects.toThrow(
    reason,
  );
});

function stream(content: string, entries = ''): string {
  return `<< /Length ${content.length} ${entries} >>\nstream\n${content}\nendstream`;
}

/** PDF of one page with the fonts F, M (monospaced), V (vertical) and J (Japanese). `others` are the objects from 9. */
function pageOf(
  content: string,
  { annotations = [] as string[], catalog = '', resources = '', others = [] as string[] } = {},
) {
  const japanese = (encoding: string) =>
    `<< /Type /Font /Subtype /Type0 /BaseFont /Ryumin /Encoding /${encoding} /DescendantFonts [8 0 R] >>`;
  return pdfOfObjects([
    `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
    '<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>',
    `<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Annots [${annotations.join(' ')}] /Resources << /Font << /F 5 0 R ` +
      `/M << /Type /Font /Subtype /Type1 /BaseFont /Courier >> /V 6 0 R /J 7 0 R >> ${resources} >> >>`,
    stream(content),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    japanese('UniJIS-UCS2-V'),
    japanese('UniJIS-UCS2-H'),
    '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Ryumin /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) ' +
      '/Supplement 2 >> /DW 1000 /FontDescriptor << /Type /FontDescriptor /FontName /Ryumin /Flags 4 >> >>',
    ...others,
  ]);
}

it('does not pass 200,000 pieces of text to one call', () => {
  const across = Array.from({ length: 200_000 }, (_, i) => ({
    ...{ str: 'word', dir: 'ltr', width: 20, height: 10, fontName: 'f', hasEOL: false },
    transform: [10, 0, 0, 10, (i % 2) * 300, 12 * Math.floor(i / 2)],
  }));
  const regions = linesOf({ items: across, styles: {}, lang: null }, [1, 0, 0, -1, 0, 800], new Set());

  expect(regions.flat().flatMap(({ segments }) => segments)).toHaveLength(200_000);
});

describe('indentation', () => {
  const lineAt = (text: string, left: number, y: number, isMonospaced: boolean): Line => {
    const place = { text, left, right: left + 50, y, size: 10, isBold: false, isMonospaced, isRightToLeft: false };
    return { ...place, segments: [{ ...place, order: y }] };
  };
  const prose = lineAt('Words of the document that are longer than all of its code', 0, 0, false);
  const longestIndentation = (lines: Line[]) => {
    const [, ...blocks] = blocksOf([{ number: 1, height: 800, regions: [[prose], lines] }]);
    return Math.max(...blocks.flatMap(({ text }) => text.split('\n')).map((line) => line.search(/\S/)));
  };

  it.each([1e4, 1e12, 1e308])('limits the indentation of code where a line is %d points from the others', (far) => {
    const lines = [lineAt('first', 0, 12, true), lineAt('second', far, 24, true)];

    expect(longestIndentation(lines)).toBe(200);
  });

  it('limits the indentation of a list where each of many items is farther right', () => {
    const lines = Array.from({ length: 100 }, (_, i) => lineAt(`- item ${i}`, 10 * i, 12 + 12 * i, false));

    expect(longestIndentation(lines)).toBe(40);
  });
});

it('does not compare all pairs of many equal texts on one line', () => {
  const items = Array.from({ length: 3_000 }, (_, i) => {
    return {
      str: '-',
      dir: 'ltr',
      transform: [0.1, 0, 0, 0.1, i, 400],
      width: 0.03,
      height: 0.1,
      fontName: 'f',
      hasEOL: false,
    };
  });
  // Each comparison of two texts calls `Math.abs`.
  const distances = jest.spyOn(Math, 'abs');

  const [region] = linesOf({ items, styles: {}, lang: null }, [1, 0, 0, -1, 0, pageHeight], new Set());

  expect(region![0]!.segments).toHaveLength(items.length);
  expect(distances.mock.calls.length).toBeLessThan(20 * items.length);
  distances.mockRestore();
});

describe('running lines', () => {
  const top = pageHeight - 40;
  const body = (page: number) => lines([`Page ${page} tells of ship ${page * 7}.`], { y: 600 });
  const document = (line: (page: number) => DrawnText[], pages = 4) =>
    pdfOf(Array.from({ length: pages }, (_, i) => [...line(i + 1), ...body(i + 1)]));
  const bodies = (pages = 4) => Array.from({ length: pages }, (_, i) => body(i + 1)[0]!.text);

  it('removes page numbers of running lines', async () => {
    expect(await texts(document((page) => [{ text: `- ${page + 10} -`, x: 300, y: 40 }]))).toEqual(bodies());
    expect(await texts(document((page) => [{ text: `Seite ${page} von 4`, x: 300, y: top }]))).toEqual(bodies());
  });

  it('keeps a running header once', async () => {
    const header = 'Harbour rules of 1907';

    expect(await texts(document(() => [{ text: header, x: 72, y: top }]))).toEqual([header, ...bodies()]);
  });

  it('removes page numbers beside a title and keeps the title once', async () => {
    const title = { text: 'Harbour rules', x: 72, y: top };

    const far = await texts(document((page) => [title, { text: `${page}`, x: 500, y: top }]));
    expect(far).toEqual([expect.stringContaining('Harbour rules'), ...bodies()]);
    const named = await texts(document((page) => [{ ...title, text: `Harbour rules, page ${page} of 4` }]));
    expect(named).toEqual(['Harbour rules, page 1 of 4', ...bodies()]);
  });

  it('keeps the headers of left and right pages once each', async () => {
    const header = (page: number) => (page % 2 === 0 ? 'Harbour rules' : 'Chapter on ships');

    const found = await texts(document((page) => [{ text: header(page), x: 72, y: top }], 6));

    expect(found.filter((text) => !bodies(6).includes(text))).toEqual(['Chapter on ships', 'Harbour rules']);
  });

  it.each<[string, (page: number) => DrawnText[], number?]>([
    ['is on two pages only', () => [{ text: 'Draft', x: 72, y: top }], 2],
    ['stands elsewhere on each page', (page) => [{ text: 'Draft', x: 72, y: top - 6 * page }]],
    ['does not count the pages', (page) => [{ text: `Ship ${page * page}`, x: 72, y: top }]],
    ['counts something else', (page) => [{ text: `Invoice number ${1000 + page}`, x: 72, y: top }]],
    ['counts parts', (page) => [{ text: `Lesson ${page} of 4`, x: 72, y: top }]],
    [
      'counts beside a label',
      (page) => [
        { text: 'Invoice', x: 72, y: top },
        { text: `${1000 + page}`, x: 140, y: top },
      ],
    ],
    ['is larger than the text', () => [{ text: 'Draft', x: 72, y: top, size: 18 }]],
    ['is bolder than the text', () => [{ text: 'Draft', x: 72, y: top, font: 'bold' }]],
    ['stands within the text', () => [{ text: 'Draft', x: 72, y: 620 }]],
    [
      'stands close to the text',
      (page) => [
        { text: 'Draft', x: 72, y: top },
        { text: `of a letter about ship ${page * page}`, x: 72, y: top - 14 },
      ],
    ],
    [
      'has text above it',
      (page) => [
        { text: 'Draft', x: 72, y: top - 20 },
        { text: `Letter about ship ${page * page}`, x: 72, y: top },
      ],
    ],
  ])('keeps on all pages text that %s', async (_, line, pages = 4) => {
    const found = (await texts(document(line, pages))).join('\n');

    const drawn = Array.from({ length: pages }, (_, i) => line(i + 1).map(({ text }) => text)).flat();
    for (const text of drawn) expect(times(text, found)).toBe(drawn.filter((other) => other === text).length);
  });

  const times = (text: string, all: string) => all.split(new RegExp(`\\b${text}\\b`)).length - 1;
});

it('does not call a PDF damaged because of an exception of our own', () => {
  const own = new TypeError('ours');

  expect(reasonOf(own)).toBe(own);
});

describe('a damaged file', () => {
  const whole = fixture('handbook.pdf');

  async function survives(bytes: Buffer): Promise<void> {
    await parsePdf(bytes).catch((error: unknown) => {
      if (!(error instanceof UnreadableDocument)) throw error;
    });
  }

  it.each([0, 1, 8, 100, 1_000, 10_000, 30_000, whole.length - 1_000, whole.length - 20])(
    'reads or refuses a file truncated after %i bytes',
    (length) => survives(whole.subarray(0, length)),
  );

  it('refuses a damaged file with advice when no part can be read', async () => {
    await expect(parsePdf(Buffer.from('%PDF-1.4\nnothing'))).rejects.toThrow(
      /is damaged.*save or print it as a new PDF/,
    );
    await expect(parsePdf(Buffer.from('%PDF-1.4\nnothing'))).rejects.toThrow(UnreadableDocument);
  });

  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'reads or refuses a file with random bytes changed, seed %i',
    async (seed) => {
      const next = randomNumbers(seed);
      const changed = Buffer.from(fixture(seed % 2 === 0 ? 'almanac.pdf' : 'drawn.pdf'));
      for (let i = 0; i < 30; i++) changed[Math.floor(next() * changed.length)] = Math.floor(next() * 256);

      await survives(changed);
    },
  );

  const catalog = '<< /Type /Catalog /Pages 2 0 R >>';
  const emptyPage = '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>';

  it.each<[string, string[]]>([
    ['pages that contain themselves', [catalog, '<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>']],
    [
      'pages that contain each other',
      [catalog, '<< /Type /Pages /Kids [3 0 R] /Count 9 >>', '<< /Type /Pages /Kids [2 0 R] /Count 9 >>'],
    ],
    ['a catalog without pages', ['<< /Type /Catalog >>']],
    ['negative pages', [catalog, '<< /Type /Pages /Kids [3 0 R] /Count -7 >>', emptyPage]],
    [
      'pages 5,000 levels deep',
      [
        catalog,
        ...Array.from({ length: 5_000 }, (_, i) => `<< /Type /Pages /Kids [${i + 3} 0 R] /Count 1 >>`),
        emptyPage,
      ],
    ],
    ['arrays 100,000 levels deep', [catalog, `<< /Type /Pages /Kids ${'['.repeat(100_000)} /Count 1 >>`]],
    [
      'content that draws itself',
      [
        catalog,
        '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>',
        '<< /Length 5 >>\nstream\n/X Do\nendstream',
        '<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >> /Length 11 >>\nstream\n/X Do /X Do\nendstream',
      ],
    ],
  ])('reads or refuses a file with %s', (_, objects) => survives(pdfOfObjects(objects)));

  it('refuses a file that declares two billion pages', async () => {
    const pdf = pdfOfObjects([catalog, '<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>', emptyPage]);

    await expect(parsePdf(pdf)).rejects.toThrow(UnreadableDocument);
  });
});

it('refuses 5,001 pages and reads 5,000', async () => {
  const pages = Array<DrawnText[]>(5_000)
    .fill([])
    .with(-1, lines(['The last leaf']));

  await expect(parsePdf(pdfOf([...pages, []]))).rejects.toThrow(
    'has 5001 pages; at most 5000 can be indexed. Split it',
  );
  expect(await read(pdfOf(pages))).toEqual([[5_000, 'paragraph', 'The last leaf']]);
});

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('a decompression bomb in a PDF', () => {
  const spaces = (bytes: number) => deflateSync(Buffer.alloc(bytes, ' '), { level: 1 });
  const pdfOfContent = (content: Buffer, ...filters: string[]) =>
    pdfOfObjects([
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << >> >>',
      `<< /Length ${content.length} /Filter [${filters.map((name) => `/${name}`).join(' ')}] >>\nstream\n${content.toString('latin1')}\nendstream`,
    ]);

  it.each([
    ['two filters', () => pdfOfContent(deflateSync(spaces(2_010_000)), 'FlateDecode', 'FlateDecode')],
    [
      'a filter that is not deflate',
      () => pdfOfContent(deflateSync(Buffer.alloc(510_000, 'z')), 'FlateDecode', 'ASCII85Decode'),
    ],
  ])('refuses a decompression bomb compressed by %s, and restores the wrapped globals', async (_how, make) => {
    const large = new Uint8Array(3_000_000);

    await expect(parsePdf(make())).rejects.toThrow(
      /unpacks to more than 5.12 MB, or one of its streams to more than 2 MB/,
    );

    expect(() => large.set(new Uint8Array(1))).not.toThrow();
  });
});
