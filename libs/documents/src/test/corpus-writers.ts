import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Content,
  type ContentItem,
  contents,
  type ContentPart,
  corpusFolder,
  flat,
  referenceOf,
} from './corpus-content';
import { encodedAs } from './encoded-as';
import { outlookMessage } from './outlook-message';
import { zipOfTexts } from './zip-of';

/** Document with the texts that a reader has to find in it. */
export interface CorpusDocument {
  file: string;
  bytes: Buffer;
  reference: string;
}

interface Written {
  source: string | Buffer;
  reference: string;
}

type Writer = (content: Content, encoding: string) => Written;

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const tableOf = ({ blocks }: Content) => blocks.find(([kind]) => kind === 'table')![1] as string[][];
const titleOf = ({ blocks }: Content) => blocks[0]![1] as string;
const stepsOf = ({ blocks }: Content) =>
  flat(blocks.find(([kind]) => kind === 'ol')![1] as string[]).map(({ text }) => text);
const lines = (block: string[]) => block.join('\n');

/** A document in each of the text formats. */
const writers: Record<string, Writer> = {
  txt: (content) => ({
    source: content.blocks.map(plainBlock).join('\r\n\r\n'),
    reference: referenceOf(content, ['numbers']),
  }),
  md: (content) => ({ source: markdown(content), reference: referenceOf(content, ['numbers', 'notes', 'marks']) }),
  mdx: (content) => ({
    source:
      `import { Box } from './box';\nexport const depth = 4;\n\n${markdown(content)}\n\n<Box tone="calm">\n\n` +
      `${content.footer}\n\n</Box>\n{/* not to be found */}\n`,
    reference: `${referenceOf(content, ['numbers', 'notes', 'marks'])}\n${content.footer}`,
  }),
  html: (content, encoding) => ({
    source: page(content, `<!DOCTYPE html><html lang="${content.language}"><meta charset="${encoding}">`),
    reference: referenceOf(content, ['numbers', 'margins', 'notes']),
  }),
  xhtml: (content, encoding) => ({
    source: page(
      content,
      `<?xml version="1.0" encoding="${encoding}"?><html xmlns="http://www.w3.org/1999/xhtml" lang="${content.language}">`,
    ),
    reference: referenceOf(content, ['numbers', 'margins', 'notes']),
  }),
  csv: (content) => ({
    source: tableOf(content)
      .map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(';'))
      .join('\r\n'),
    reference: lines(tableOf(content).map((row) => row.join(' '))),
  }),
  tsv: (content) => ({
    source: tableOf(content)
      .map((row) => row.join('\t'))
      .join('\n'),
    reference: lines(tableOf(content).map((row) => row.join(' '))),
  }),
  json: (content) => asWritten(JSON.stringify({ title: titleOf(content), records: recordsOf(content) }, null, 2)),
  jsonl: (content) =>
    asWritten(
      recordsOf(content)
        .map((record) => JSON.stringify(record))
        .join('\n'),
    ),
  xml(content, encoding) {
    const records = tableOf(content)
      .slice(1)
      .map(
        (row, i) => `<row id="r${i}">${row.map((cell, j) => `<cell${j}>${escaped(cell)}</cell${j}>`).join('')}</row>`,
      );
    const steps = stepsOf(content).map((step) => `<step><![CDATA[${step}]]></step>`);
    const body = `<book><title>${escaped(titleOf(content))}</title>${records.join('\n')}${steps.join('\n')}</book>`;
    return {
      source: `<?xml version="1.0" encoding="${encoding}"?>\n<!-- not to be found -->${body}`,
      reference: body.replaceAll(/<!\[CDATA\[|\]\]>|<\/\w+>/g, ' ').replaceAll(/[<>="]/g, ' '),
    };
  },
  ipynb: (content) => ({
    source: JSON.stringify({
      cells: [
        { cell_type: 'markdown', metadata: {}, source: markdown(content).split(/(?<=\n)/) },
        {
          cell_type: 'code',
          execution_count: 3,
          source: ['total = sum(sacks)\n', 'print(total)'],
          outputs: [
            { output_type: 'stream', name: 'stdout', text: ['254 sacks\n'] },
            { output_type: 'display_data', data: { 'image/png': 'iVBORw0KGgo=', 'text/plain': ['<Figure>'] } },
          ],
        },
      ],
      metadata: { language_info: { name: 'python' } },
      nbformat: 4,
      nbformat_minor: 5,
    }),
    reference: `${referenceOf(content, ['numbers', 'notes', 'marks'])}\ntotal = sum(sacks)\nprint(total)\n254 sacks`,
  }),
  epub(content) {
    const chapter = page(content, '<html xmlns="http://www.w3.org/1999/xhtml">');
    const source = zipOfTexts({
      mimetype: 'application/epub+zip',
      'META-INF/container.xml': '<container><rootfiles><rootfile full-path="o/b.opf"/></rootfiles></container>',
      'o/b.opf':
        '<package><metadata><dc:title xmlns:dc="d">Not the first line</dc:title></metadata><manifest>' +
        '<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/>' +
        '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>' +
        '<spine><itemref idref="n"/><itemref idref="c"/></spine></package>',
      'o/n.xhtml': '<html><body><nav>not to be found</nav></body></html>',
      'o/c.xhtml': chapter,
    });
    return { source, reference: referenceOf(content, ['numbers', 'margins', 'notes']) };
  },
  eml: mail,
  msg(content) {
    const source = outlookMessage({
      properties: {
        '0037': titleOf(content),
        '0042': 'Ann Weaver',
        '5d02': 'ann@example.org',
        '0039': new Date('2026-02-03T09:30:00Z'),
        '1013': encodedAs(content.encoding, page(content, '<html>')),
        '3fde': codePages[content.encoding]!,
      },
      recipients: [{ '3001': 'Bo Miller', '39fe': 'bo@example.net', '0c15': 1 }],
      attachments: [{ '3707': 'list.txt', '3701': Buffer.from(lines(stepsOf(content))) }],
    });
    return { source, reference: mailReference(content, 'margins') };
  },
  ics: (content) => ({
    source: [
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      ...stepsOf(content).flatMap((step, i) => [
        'BEGIN:VEVENT',
        `UID:${i}`,
        ...folded(`SUMMARY:${step.replaceAll(/[,;]/g, '\\$&')}`),
        `DTSTART:2026030${i + 1}T080000Z`,
        ...folded(`LOCATION:${content.footer}`),
        ...folded(`DESCRIPTION:${content.header.replaceAll(',', '\\,')}`),
        'BEGIN:VALARM',
        'DESCRIPTION:not to be found',
        'END:VALARM',
        'END:VEVENT',
      ]),
      'END:VCALENDAR',
    ].join('\r\n'),
    reference: stepsOf(content)
      .map((step, i) => `${step}\nStart 2026-03-0${i + 1} 08:00 UTC\nPlace ${content.footer}\n${content.header}`)
      .join('\n'),
  }),
  py: (content) =>
    asWritten(
      `"""${titleOf(content)}."""\n\nSTEPS = [\n${stepsOf(content)
        .map((step) => `    ${JSON.stringify(step)},\n`)
        .join(
          '',
        )}]\n\n\ndef walk(steps=STEPS):\n    # ${content.header}\n    for number, step in enumerate(steps, 1):\n        yield f"{number}: {step}"\n`,
    ),
  sql: (content) =>
    asWritten(
      `-- ${titleOf(content)}\nCREATE TABLE grain (label text, amount text, price text);\n\n${tableOf(content)
        .slice(1)
        .map((row) => `INSERT INTO grain VALUES (${row.map((cell) => `'${cell}'`).join(', ')});\n`)
        .join('')}`,
    ),
};

/** Contents by format; `utf-8` in place of the encoding of the content's country. */
const written: [format: string, names: string[], encoding?: string][] = [
  ['txt', Object.keys(contents)],
  ['txt', ['mill', 'hot-spring'], 'utf-16le'],
  ['txt', ['date-palm', 'tea'], 'utf-8'],
  ['md', ['mill', 'ferry', 'salt', 'date-palm', 'hot-spring', 'tea'], 'utf-8'],
  ['mdx', ['mill', 'lighthouse', 'pomegranate'], 'utf-8'],
  ['html', ['ferry', 'salt', 'olives', 'hot-spring']],
  ['html', ['mill', 'date-palm', 'tea'], 'utf-8'],
  ['xhtml', ['mill', 'carpets', 'pomegranate'], 'utf-8'],
  ['csv', ['mill', 'ferry', 'lighthouse', 'hot-spring', 'tea']],
  ['csv', ['salt', 'olives'], 'utf-8'],
  ['tsv', ['carpets', 'date-palm', 'mill'], 'utf-8'],
  ['json', ['mill', 'lighthouse', 'tea', 'pomegranate'], 'utf-8'],
  ['jsonl', ['ferry', 'olives', 'hot-spring'], 'utf-8'],
  ['xml', ['salt', 'lighthouse']],
  ['xml', ['mill', 'date-palm'], 'utf-8'],
  ['ipynb', ['mill', 'carpets', 'tea'], 'utf-8'],
  ['eml', ['mill', 'ferry', 'salt', 'lighthouse', 'date-palm', 'hot-spring']],
  ['msg', ['ferry', 'salt', 'pomegranate', 'hot-spring']],
  ['epub', ['ferry', 'salt', 'date-palm', 'tea'], 'utf-8'],
  ['ics', ['mill', 'lighthouse', 'tea'], 'utf-8'],
  ['py', ['mill', 'ferry', 'hot-spring'], 'utf-8'],
  ['sql', ['salt', 'lighthouse', 'date-palm'], 'utf-8'],
];

/** Documents that are written here; those of other programs are files. */
export function writtenDocuments(): CorpusDocument[] {
  return written.flatMap(([format, names, encoding]) =>
    names.map((name) => {
      const content = contents[name]!;
      const { source, reference } = writers[format]!(content, encoding ?? content.encoding);
      const bytes = typeof source === 'string' ? encoded(encoding ?? content.encoding, source) : source;
      return { file: `${name}.${encoding ?? content.encoding}.${format}`, bytes, reference };
    }),
  );
}

/** All files of the corpus: written here, and by other programs (write.py beside them). */
export function corpusDocuments(): CorpusDocument[] {
  const listed = JSON.parse(readFileSync(join(corpusFolder, 'files.json'), 'utf8')) as ListedFile[];
  const others = listed.map(({ file, content, parts, text = '' }) => ({
    file,
    bytes: readFileSync(join(corpusFolder, file)),
    reference: `${content ? referenceOf(contents[content]!, parts) : ''}\n${text}`,
  }));
  return [...writtenDocuments(), ...others];
}

interface ListedFile {
  file: string;
  content?: string;
  parts: ContentPart[];
  text?: string;
}

const codePages: Record<string, number> = {
  'windows-1250': 1250,
  'windows-1252': 1252,
  'windows-1255': 1255,
  shift_jis: 932,
};

const encoded = (encoding: string, text: string) =>
  encoding === 'utf-8' ? Buffer.from(text) : encodedAs(encoding, text);

/** The names and values of the file are what a reader sees. */
const asWritten = (source: string): Written => ({ source, reference: source });

function recordsOf(content: Content): Record<string, string>[] {
  const [names, ...rows] = tableOf(content);
  return rows.map((row) => Object.fromEntries(row.map((cell, i): [string, string] => [names![i]!, cell])));
}

function plainBlock([kind, value]: Content['blocks'][number]): string {
  if (kind === 'table') return value.map((row) => row.join('\t')).join('\r\n');
  if (kind !== 'ul' && kind !== 'ol') return value;
  return flat(value)
    .map(({ text, level }, i) => `${'  '.repeat(level)}${kind === 'ol' ? `${i + 1}.` : '*'} ${text}`)
    .join('\r\n');
}

function markdown({ blocks }: Content): string {
  return blocks
    .map(([kind, value, note]) => {
      if (kind === 'table') {
        const [head, ...rows] = value.map((row) => `| ${row.join(' | ')} |`);
        return [head, `|${' --- |'.repeat(value[0]!.length)}`, ...rows].join('\n');
      }
      if (kind === 'ul' || kind === 'ol') {
        return flat(value)
          .map(({ text, level }, i) => `${'  '.repeat(level)}${kind === 'ol' ? `${i + 1}.` : '-'} ${text}`)
          .join('\n');
      }
      if (kind === 'p') return note ? `${value}[^1]\n\n[^1]: ${note}` : value;
      return kind === 'quote' ? `> ${value}` : `${'#'.repeat(Number(kind[1]))} ${value}`;
    })
    .join('\n\n');
}

function page({ blocks, header, footer, direction }: Content, head: string): string {
  const body = blocks.map(([kind, value, note]) => {
    if (kind === 'table') {
      const [first, ...rows] = value.map((row) => row.map(escaped));
      const cells = (row: string[], name: string) => row.map((cell) => `<${name}>${cell}</${name}>`).join('');
      return `<table><thead><tr>${cells(first!, 'th')}</tr></thead>${rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n')}</table>`;
    }
    if (kind === 'ul' || kind === 'ol') return `<${kind}>${value.map(itemOf).join('\n')}</${kind}>`;
    const name = kind === 'quote' ? 'blockquote' : kind;
    return `<${name}>${escaped(value)}</${name}>${note ? `<aside>${escaped(note)}</aside>` : ''}`;
  });
  return (
    `${head}<head><title>${escaped(blocks[0]![1] as string)}</title><style>p { color: #333 }</style></head>` +
    `<body${direction ? ' dir="rtl"' : ''}><header>${escaped(header)}</header>` +
    `<script>document.write("not to be found");</script><p hidden="hidden">not to be found</p><main>${body.join('\n')}</main>` +
    `<footer>${escaped(footer)}</footer></body></html>`
  );
}

function itemOf(item: ContentItem): string {
  if (typeof item === 'string') return `<li>${escaped(item)}</li>`;
  return `<li>${escaped(item[0])}<ul>${item[1].map((text) => `<li>${escaped(text)}</li>`).join('')}</ul></li>`;
}

/** Message with a text, the same as a page, and an attached text; base64 and quoted-printable. */
function mail(content: Content, encoding: string): Written {
  const base64 = (text: string) => encoded(encoding, text).toString('base64').replaceAll(/.{76}/g, '$&\r\n');
  const quoted = (text: string) =>
    [...encoded(encoding, text)]
      .map((byte, i) => {
        const shown =
          byte === 61 || byte > 126 || byte < 32
            ? `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
            : String.fromCharCode(byte);
        return i % 24 === 23 ? `${shown}=\r\n` : shown;
      })
      .join('');
  const words = [...titleOf(content)].reduce<string[]>((all, character, i) => {
    if (i % 10 === 0) all.push('');
    all[all.length - 1] += character;
    return all;
  }, []);
  const subject = words.map((word) => `=?${encoding}?B?${encoded(encoding, word).toString('base64')}?=`).join('\r\n ');
  const part = (type: string, transfer: string, body: string, more = '') =>
    `Content-Type: ${type}; charset=${encoding}\r\nContent-Transfer-Encoding: ${transfer}\r\n${more}\r\n${body}\r\n`;
  const source = [
    'From: Ann Weaver <ann@example.org>',
    'To: Bo Miller <bo@example.net>',
    'Date: Tue, 03 Feb 2026 09:30:00 +0000',
    `Subject: ${subject}`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="outer"',
    '',
    '--outer',
    'Content-Type: multipart/alternative; boundary="inner"',
    '',
    `--inner\r\n${part('text/plain', 'base64', base64(content.blocks.map(plainBlock).join('\r\n')))}`,
    `--inner\r\n${part('text/html', 'quoted-printable', quoted(page(content, '<html>')))}`,
    '--inner--',
    `--outer\r\n${part('text/plain', 'base64', base64(lines(stepsOf(content))), 'Content-Disposition: attachment; filename=list.txt\r\n')}`,
    '--outer--',
    '',
  ].join('\r\n');
  return { source: Buffer.from(source, 'latin1'), reference: mailReference(content, 'margins') };
}

function mailReference(content: Content, margins: ContentPart): string {
  return lines([
    titleOf(content),
    'From: Ann Weaver <ann@example.org>',
    'To: Bo Miller <bo@example.net>',
    'Date: 2026-02-03T09:30:00.000Z',
    referenceOf(content, ['numbers', 'notes', margins]),
    'list.txt',
    ...stepsOf(content),
    'list.txt',
  ]);
}

/** Lines of at most 75 bytes; a continued one begins with a space. */
function folded(line: string): string[] {
  const all: string[] = [''];
  for (const character of line) {
    if (Buffer.byteLength(all.at(-1)! + character) > 74) all.push(' ');
    all[all.length - 1] += character;
  }
  return all;
}
