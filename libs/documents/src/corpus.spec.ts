import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Block, BlockType } from './block';
import { blocksOf } from './test/blocks-of';

interface Expected {
  file: string;
  texts: string[];
  types: (BlockType | `${'title' | 'subtitle'} ${number}`)[];
  pages?: number;
  without?: string[];
}

const orchardTexts = [
  'Care of the Orchard',
  'Planting',
  'Water them slowly, twice a week, in the first summer.',
  'Für Äpfel und Birnen genügt etwas Kompost. 梅の木は早春に咲きます。 🍎 keeps well.',
  'Tools',
  '- Spade\n- Stakes, of which two kinds are used:\n  1. chestnut poles\n  2. steel rods\n- Twine',
  'Spacing',
  'Kind | Metres | Years to fruit\nApple | 4.5 | three\nQuince | 3.5 | four',
  'Sayings',
  'Plant pears for your heirs.\nThe second spring tells.',
  'prune --month february\ngraft --month april',
  'Last line of the orchard book.',
];
const orchardTypes: Expected['types'] = [
  'title 1',
  'subtitle 2',
  'subtitle 3',
  'paragraph',
  'list',
  'table',
  'blockquote',
  'code',
];

const beesTexts = [
  'Bees in the Orchard',
  'Winter meeting in Überlingen',
  'Spring tasks',
  '- Open the hives\n  - Check the queen\n  - Count the frames\n- 梅 blossoms feed them 🐝',
  'Remind everyone to bring gloves.',
  'Harvest',
  'Hive | Kilograms\nNorth | 14\nSouth | 9.5',
  'Weighed without the wax.',
];
const cellarTexts = [
  'Cellar',
  'Variety | Crates | Picked on\nGrüner Boskoop | 12.5 | 2025-09-21\nふじ 🍏 | 7 | 2025-10-03\nTotal | 19.5 |',
  'Prices',
  'Grade | Per kilo\nFirst | 2.35',
];

const corpus: Expected[] = [
  {
    file: 'boats.csv',
    texts: [
      'Boot | Länge (m) | Bemerkung\nAlbatros | 12,5 | Fährt nach Norden; nur bei Tag\nMöwe | 8,0 | Der "schnelle" Kutter',
      'Seestern | 31 | gemietet | bis Herbst',
    ],
    types: ['table'],
  },
  {
    file: 'charts.xml',
    texts: [
      'chart:\n  number: 17\n  title: Approaches to Marlow\n  geo:depth: 4.5 (unit: m)\n' +
        '  note: Beware of the sunken barge near pier three & its mast.',
      'chart:\n  number: 18\n  title: Fjord of Bjørnvik\n  note: Depth < 2 m at low water',
    ],
    types: ['paragraph'],
    without: ['Not to be found', 'example.org'],
  },
  {
    file: 'crew.json',
    texts: [
      'name: Mara Venn\nborn: 1987\nlicences: coastal, radio\naddress:\n  street: 9 Ropewalk\n  town: Marlow',
      'account: 90071992547409931234\ntrips:\n  - to: Eastcliff\n    days: 2\n  - to: Hallow Island',
    ],
    types: ['paragraph'],
  },
  {
    file: 'events.jsonl',
    texts: ['event: departed\nboat:\n  name: Albatross', 'event: moored\npier: 5', '"event":"fuel lo'],
    types: ['paragraph'],
  },
  {
    file: 'ferry.eml',
    texts: [
      'Überfahrt: der neue Plan',
      'From: Fährbureau <ferry@example.org>\n' +
        'To: Ann Sailor <ann@example.net>, Jürgen Lotse <juergen@example.net>\nCc: crew@example.net\nDate: 2025-02-28T08:11:02',
      'Plan für März',
      'Die Fähre legt um sieben Uhr ab. Bitte kommt zwanzig Minuten früher an den Anleger.',
      'Tag | Ziel\nMontag | Hallig Nordwind',
      'Pier 3 is closed for the café',
      'Pier three stays closed while the café gets a new roof. All boats moor at pier five.',
      '- Fahrplan März.csv',
    ],
    types: ['title 1', 'subtitle 2', 'paragraph', 'table', 'list'],
    without: ['logo.png', 'Monday,Albatross', '=?'],
  },
  {
    file: 'ferry.msg',
    texts: [
      'Überfahrt: der neue Plan',
      'From: Fährbureau <ferry@example.org>\n' +
        'To: Ann Sailor <ann@example.net>, Jürgen Lotse <juergen@example.net>\nCc: crew@example.net\nDate: 2025-02-28T08:11:02',
      'Plan für März',
      'Die Fähre legt um sieben Uhr ab.',
      'Tag | Ziel\nMontag | Hallig Nordwind',
      'Pier 3 is closed for the café',
      'Pier three stays closed while the café gets a new roof. All boats moor at pier five.',
      '- Fahrplan März.csv',
    ],
    types: ['title 1', 'subtitle 2', 'paragraph', 'table', 'list'],
    without: ['logo.png', 'Monday,Albatross', '=?'],
  },
  {
    file: 'guide.mdx',
    texts: [
      'Mooring a boat',
      'Turn the engine off before you throw the line.',
      'Long lines are better than short ones.',
      'Today is',
      'import { moor } from \'harbour\';\nmoor(<Boat name="Albatross" />);',
    ],
    types: ['title 1', 'paragraph', 'code'],
    without: ['Callout', 'Date', 'not to be found'],
  },
  {
    file: 'harbour.txt',
    texts: [
      'Harbour rules',
      'Boats keep to the right of the fairway.\nNobody overtakes between the piers.',
      'The café opens at six – even in winter.',
    ],
    types: ['paragraph'],
  },
  {
    file: 'lighthouse.md',
    texts: [
      'The lighthouse',
      'Built in 1871 by Tomas Reed.',
      'Signals',
      'Light | Meaning\ntwo flashes | fog ahead\nsteady red | harbour closed',
      '- lit at dusk\n- put out at dawn',
    ],
    types: ['title 1', 'subtitle 2', 'paragraph', 'table', 'list'],
  },
  {
    file: 'menu.html',
    texts: ['Menu', 'All soups come with rye bread.', '- Fish soup\n- Pea soup'],
    types: ['title 0', 'title 1', 'paragraph', 'list'],
    without: ['not to be found'],
  },
  {
    file: 'tide.py',
    texts: ['"""Works out when', 'def level(hours_after_high):', 'class Passage:', '    def is_safe(self'],
    types: ['code'],
  },
  {
    file: 'tides.tsv',
    texts: ['Port | High water | Low water\nMarlow | 06:12 | 12:31\nEastcliff, north quay | 06:48 | 13:02'],
    types: ['table'],
  },
  {
    file: 'handmade.epub',
    texts: [
      'The wheel',
      '1. oak\n  - spokes\n  - rim\n2. iron',
      'Water never waits.',
      'The flour',
      'Grain | Säcke\nRye | 40\nSpelt | 12',
      'grind --fine\nsieve',
      '粉は白い。 🌾',
    ],
    types: ['title 1', 'subtitle 2', 'paragraph', 'list', 'table', 'blockquote', 'code'],
    without: ['Contents page'],
  },
  {
    file: 'libreoffice.doc',
    texts: [...orchardTexts, '1. Loam over gravel drains best.'],
    types: orchardTypes,
    without: ['HYPERLINK', '\u0007'],
  },
  {
    file: 'libreoffice.docx',
    texts: [...orchardTexts, '1. Loam over gravel drains best.'],
    types: orchardTypes,
    without: ['↑'],
  },
  {
    file: 'libreoffice.epub',
    texts: ['Care of the Orchard', 'Für Äpfel', 'chestnut poles', 'Quince | 3.5 | four', 'Loam over', 'Last line'],
    types: ['paragraph', 'table'],
  },
  {
    file: 'libreoffice.odp',
    texts: beesTexts,
    types: ['title 1', 'paragraph', 'list', 'table'],
    pages: 3,
  },
  {
    file: 'libreoffice.ods',
    texts: cellarTexts,
    types: ['title 1', 'table'],
  },
  {
    file: 'libreoffice.odt',
    texts: [...orchardTexts.slice(0, 3), '[1] Loam over gravel drains best.', ...orchardTexts.slice(3)],
    types: orchardTypes,
  },
  {
    file: 'libreoffice.ppt',
    texts: beesTexts,
    types: ['title 1', 'paragraph', 'list', 'table'],
    pages: 3,
    without: ['Click to edit'],
  },
  {
    file: 'libreoffice.pptx',
    texts: ['Storing apples', '- Cool cellar\n  - four degrees\n- Säcke aus Jute', 'りんごは冷やす 🍎'],
    types: ['paragraph', 'list'],
    pages: 2,
  },
  {
    file: 'libreoffice.rtf',
    texts: [...orchardTexts.slice(0, 3), '[1] Loam over gravel drains best.', ...orchardTexts.slice(3)],
    types: orchardTypes,
  },
  {
    file: 'libreoffice.xls',
    texts: cellarTexts,
    types: ['title 1', 'table'],
  },
  {
    file: 'libreoffice.xlsx',
    texts: cellarTexts,
    types: ['title 1', 'table'],
  },
  {
    file: 'manual.doc',
    texts: [
      'Pilot manual, third edition',
      '1. Entering the port',
      'Slow down at the buoy[1] and call\nthe pilots. Zażółć, “naïve” – Пилот[2]',
      '2. Fees',
      'Vessel | Fee\nBarge or lighter | 40',
      'After the table.',
      '1. It is green.\n2. A Russian pilot.',
      'Boxed warning',
      'Page approved by the board',
      'Comment by Ann: How slow?',
    ],
    types: ['title 1', 'paragraph', 'table', 'list'],
    without: ['Not to be found', 'example.org'],
  },
  {
    file: 'openpyxl.xlsx',
    texts: [
      'Hives',
      'Hive | Founded | Inspected | Weight | Note\nNord | 2021-05-04 | 2025-06-01T14:30:00 | 1.1 | ruhig, süß',
      'Süd | 1900-01-15 | 07:45:00 | -3 | 蜂 🐝',
      'Old',
      'Archived hive',
    ],
    types: ['title 1', 'table'],
    without: ['Empty'],
  },
  {
    file: 'python-docx.docx',
    texts: [
      'Beekeeping log',
      'Inspection',
      'Größe: zehn Waben. 蜂は元気です。 🐝',
      'Findings',
      '- eggs\n- larvae\n  - sealed brood',
      '1. feed\n2. wait',
      'A swarm in May is worth a load of hay.',
      'Frame | State\n1 | honey\n2 | pollen',
      'Kept text. Added later.',
    ],
    types: ['title 1', 'subtitle 2', 'paragraph', 'list', 'blockquote', 'table'],
    without: ['struck out'],
  },
  {
    file: 'python-pptx.pptx',
    texts: beesTexts,
    types: ['title 1', 'paragraph', 'list', 'table'],
    pages: 3,
  },
  {
    file: 'sheetjs.xlsb',
    texts: [
      'Tides',
      'Порт | Tide | When | Share\nMarlow | 4.5 | 2025-09-21 | 12.5%\nCafé | TRUE |  | 1,234,567.89\nTotal | 7 | done | #DIV/0!',
      'Comment by Ann on A6: Ask first',
      'Old',
      'Hidden\nx',
    ],
    types: ['title 1', 'table', 'paragraph'],
  },
];

it.each(corpus)(
  'finds the expected text and block types in $file',
  async ({ file, texts, types, pages, without = [] }) => {
    const blocks = await blocksOf(readFileSync(`test/fixtures/documents/${file}`), basename(file));

    expect(inOrder(blocks, texts)).toEqual(texts);
    expect(
      [...new Set(blocks.map(({ type, level }) => (level === undefined ? type : `${type} ${level}`)))].toSorted(),
    ).toEqual(types.toSorted());
    expect(new Set(blocks.map(({ pageNumber }) => pageNumber))).toEqual(new Set(numbersTo(pages)));
    for (const text of without) expect(blocks.map((block) => block.text).join('\n')).not.toContain(text);
  },
);

function inOrder(blocks: Block[], texts: string[]): string[] {
  let position = 0;
  return texts.filter((text) => {
    const found = blocks.findIndex((block, index) => index >= position && block.text.includes(text));
    if (found !== -1) position = found;
    return found !== -1;
  });
}

function numbersTo(pages: number | undefined): (number | undefined)[] {
  return pages === undefined ? [undefined] : Array.from({ length: pages }, (_, index) => index + 1);
}
