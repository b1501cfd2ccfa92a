import { type Block, UnreadableDocument } from './block';
import { textLimitCharacters } from './limits';
import { parseDocument } from './parse-document';
import { zipOfTexts } from './test/zip-of';

async function parse(content: string | Buffer, contentType = 'text/plain', key = 'a') {
  const blocks: Block[] = [];
  for await (const block of parseDocument({ bytes: Buffer.from(content as string), contentType, key }))
    blocks.push(block);
  return blocks;
}
const textOf = async (content: string | Buffer, contentType?: string, key?: string) =>
  (await parse(content, contentType, key)).map((block) => block.text).join('\n\n');

const gif = Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1');
const png = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010806000000', 'hex');
const zip = Buffer.concat([
  Buffer.from('504b03041400000000000000000000000000000000000000000001000000', 'hex'),
  Buffer.from('a'),
]);

describe('format', () => {
  it.each([
    ['text/markdown', 'a', 'title'],
    ['Text/Markdown; charset=utf-8', 'a.txt', 'title'],
    ['text/plain', 'folder/a.MD', 'title'],
    ['application/octet-stream', 'a.markdown', 'title'],
    ['text/plain', 'a.txt', 'paragraph'],
    ['text/csv', 'a.csv', 'table'],
    ['', 'a.csv', 'table'],
    ['application/octet-stream', 'notes', 'paragraph'],
    ['', 'a.py', 'code'],
    ['video/mp2t', 'a.ts', 'code'],
    ['text/plain', 'server.log', 'paragraph'],
    ['text/x-unknown', 'a', 'paragraph'],
    ['text/html', 'a.md', 'paragraph'],
    ['application/vnd.ms-excel', 'a.csv', 'table'],
    ['application/msword', 'a.md', 'title'],
    ['application/x-php', 'a.php', 'code'],
    ['application/x-subrip', 'a.srt', 'paragraph'],
    ['application/x-nothing', 'a.bin', 'paragraph'],
  ])('reads %s named %s in the format where a line with # is a %s', async (contentType, key, type) => {
    expect((await parse('# hello', contentType, key))[0]).toMatchObject({ type });
  });

  it.each(['image/heic', 'video/mp4', 'font/ttf'])(
    'refuses the content type %s and lists the accepted ones',
    async (type) => {
      await expect(parse('hello', type, 'a.bin')).rejects.toThrow(UnreadableDocument);
      await expect(parse('hello', type, 'a.bin')).rejects.toThrow(
        /cannot be indexed.*text\/plain.*text\/markdown.*text\/html/,
      );
    },
  );

  it.each(['application/zip', 'application/octet-stream', 'application/x-rtf'])(
    'detects the format by content when the content type is %s',
    async (type) => {
      expect(await textOf('{\\rtf1 Hello}', type)).toBe('Hello');
    },
  );

  it('reports the detected format when it contradicts the content type', async () => {
    await expect(parse('{\\rtf1 Hello}', 'image/heic')).rejects.toThrow(
      /sent as image\/heic, but its content is Rich Text Format: upload it with the content type application\/rtf/,
    );
    await expect(parse('hello', 'application/vnd.ms-excel', 'a.xls')).rejects.toThrow(/Excel/);
    await expect(parse(png, 'application/vnd.ms-excel', 'a.csv')).rejects.toThrow(/content is picture \(image\/png\)/);
    await expect(parse(zip, 'application/zip')).rejects.toThrow(/type application\/zip cannot be indexed/);
  });

  it('reports the detected type of content that has no content type and cannot be indexed', async () => {
    await expect(parse(gif, 'application/octet-stream', 'a')).rejects.toThrow(/type image\/gif cannot be indexed.*CSV/);
    await expect(parse(Buffer.from([1, 2, 3, 4]), '', 'a')).rejects.toThrow(/\(none\) cannot be indexed.*CSV/);
  });

  it.each<[string, string, Buffer | string, RegExp]>([
    ['text/plain', 'a.txt', png, /declared as plain text \(text\/plain\), but its content is picture \(image\/png\)/],
    ['text/csv', 'a.csv', zip, /declared as CSV \(text\/csv\), but its content is application\/zip/],
    ['application/octet-stream', 'a.md', zip, /declared as Markdown, but its content is application\/zip/],
    [
      'application/json',
      'a',
      '%PDF-1.7\n1 0 obj',
      /declared as JSON \(application\/json\), but its content is .*application\/pdf/,
    ],
  ])('refuses %s named %s with other content', async (type, key, content, reason) => {
    await expect(parse(content, type, key)).rejects.toThrow(UnreadableDocument);
    await expect(parse(content, type, key)).rejects.toThrow(reason);
    await expect(parse(content, type, key)).rejects.toThrow(/Upload it with/);
  });

  it.each([
    'BMW makes cars',
    'MZ was a motorcycle',
    'GIF87a is a format',
    'ID3 tags',
    '%!PS',
    'II*',
    'OTTO',
    '%PDF is a magic',
    '{\\rtf is how',
  ])('reads text that begins like the magic number of a binary format: %s', async (text) => {
    expect(await textOf(text)).toBe(text);
  });

  it('reads XML and JSON dialects by the suffix of their content type', async () => {
    const page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>Here</p></body></html>';

    expect(await textOf(page, 'application/xhtml+xml')).toBe('Here');
    expect(await textOf('<?xml version="1.0"?><a><b>x</b></a>', 'application/rss+xml')).toBe('b: x');
    expect(await textOf('{"a": 1}', 'application/ld+json')).toBe('a: 1');
  });

  it('reads a calendar as events', async () => {
    const calendar =
      'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Tasting\r\nLOCATION:Bakery\r\nEND:VEVENT\r\nEND:VCALENDAR';

    expect(await parse(calendar, 'text/calendar')).toEqual([
      { type: 'title', text: 'Tasting', level: 1 },
      { type: 'paragraph', text: 'Place: Bakery' },
    ]);
  });

  it('closes self-closing XHTML elements', async () => {
    const page = '<html><head><title/><script src="a.js"/></head><body><div/><p>Here</p></body></html>';

    expect(await parse(page, 'application/xhtml+xml')).toEqual([{ type: 'paragraph', text: 'Here' }]);
  });
});

describe('encoding', () => {
  it.each<[string, Buffer]>([
    ['UTF-8', Buffer.from('Käse 🧀')],
    ['UTF-8 with a mark', Buffer.from('\uFEFFKäse 🧀')],
    ['UTF-16 little endian', Buffer.from('\uFEFFKäse 🧀', 'utf16le')],
    ['UTF-16 big endian', Buffer.from('\uFEFFKäse 🧀', 'utf16le').swap16()],
    ['UTF-16 without a mark', Buffer.from('Käse 🧀', 'utf16le')],
  ])('reads text encoded as %s', async (_, bytes) => {
    expect(await textOf(bytes)).toBe('Käse 🧀');
  });

  it('decodes undeclared Latin text as windows-1252', async () => {
    expect(await textOf(Buffer.from('caf\xe9 \x80 5', 'latin1'))).toBe('café € 5');
  });

  it('replaces a few invalid bytes in UTF-8 text', async () => {
    expect(await textOf(Buffer.concat([Buffer.from('é à ü words '), Buffer.from([0xff]), Buffer.from(' ñ')]))).toBe(
      'é à ü words \uFFFD ñ',
    );
  });

  it.each([
    ['text/plain; charset=shift_jis', ''],
    ['text/html', '<meta charset="shift_jis">'],
    ['text/html', '<?xml version="1.0" encoding="shift_jis"?>'],
    ['application/xhtml+xml', '<?xml version="1.0" encoding="shift_jis"?>'],
    ['application/xhtml+xml', '<meta charset="shift_jis"/>'],
  ])('uses the declared charset (%s%s)', async (contentType, start) => {
    const japanese = Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea]);

    expect(await textOf(Buffer.concat([Buffer.from(start), japanese]), contentType)).toBe('日本語');
  });

  it.each<[string, Buffer]>([
    ['bytes of all kinds', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 256))],
    ['NULs', Buffer.concat([Buffer.from('ELF'), Buffer.alloc(100)])],
    ['nothing but bad bytes', Buffer.alloc(50, 0x81)],
  ])('refuses binary content declared as text: %s', async (_, bytes) => {
    await expect(parse(bytes, 'text/plain', 'a.txt')).rejects.toThrow(UnreadableDocument);
    await expect(parse(bytes, 'text/plain', 'a.txt')).rejects.toThrow(/binary.*UTF-8/);
  });

  it('ignores a false UTF-16 declaration in XML', async () => {
    const xml = '<?xml version="1.0" encoding="utf-16"?><a><b>Käse</b></a>';

    expect(await textOf(xml, 'application/xml')).toBe('b: Käse');
    expect(await textOf(xml, 'application/xhtml+xml')).toBe('Käse');
  });

  it.each<[string, string, string]>([
    ['windows-1251', 'cff0e8e2e5f22c20ece8f021', 'Привет, мир!'],
    ['windows-1253', 'eae1ebe7ecddf1e1', 'καλημέρα'],
    ['GBK', 'c4e3bac3a3accac0bde7', '你好，世界'],
  ])('detects an undeclared encoding of a non-Latin alphabet: %s', async (_, hex, text) => {
    const page = Buffer.concat([Buffer.from('<p class="greeting">'), Buffer.from(hex, 'hex'), Buffer.from('</p>')]);

    expect(await textOf(page)).toBe(`<p class="greeting">${text}</p>`);
    expect(await textOf(page, 'text/html')).toBe(text);
  });

  it('removes characters that Postgres cannot store', async () => {
    const text = 'word '.repeat(100);

    expect(await textOf(`${text}a\0b`)).toBe(`${text}ab`);
    expect(await textOf('a&#0;&#1;&#xD800;b', 'text/html')).toMatch(/^a\uFFFD*b$/);
  });
});

describe('plain text', () => {
  it('splits paragraphs at blank lines, with any line ends', async () => {
    expect(await parse('One\r\nstill one\r\n \t\r\n\r\n# Two\rstill two\n')).toEqual([
      { type: 'paragraph', text: 'One\nstill one' },
      { type: 'paragraph', text: '# Two\nstill two' },
    ]);
  });

  it.each([
    ['', 'text/plain'],
    [' \n\t\n', 'text/plain'],
    ['<p> </p><script>a()</script>', 'text/html'],
    ['[a]: b', 'text/markdown'],
  ])('refuses %j as a text without content', async (content, contentType) => {
    await expect(parse(content, contentType)).rejects.toThrow(/No text found/);
  });
});

it.each(['text/plain', 'text/markdown', 'text/html'])('reads a single line of 1 MB as %s', async (contentType) => {
  const line = 'word '.repeat(200_000);

  expect((await textOf(line, contentType)).replace(/\s/g, '').length).toBe(800_000);
});

it.each([
  ['text/html', ''],
  ['application/xhtml+xml', ''],
  ['text/markdown', ''],
  ['message/rfc822', 'Content-Type: text/html\r\n\r\n'],
])('reads a list item outside of a list in %s', async (contentType, start) => {
  expect(await textOf(`${start}<p>x</p>\n\n<li>a</li>`, contentType)).toMatch(/x\n\n- a$/);
});

it.each([
  ['text/html', 'Dampf&shy;schiff\u00adfahrt'],
  ['application/xhtml+xml', '<p>Dampf&#173;schiff&#xAD;fahrt</p>'],
  ['text/markdown', 'Dampf&shy;schiff\u00adfahrt'],
  ['text/plain', 'Dampf\u00adschiff\u00adfahrt'],
  ['text/csv', 'Dampf\u00adschiff\u00adfahrt'],
  ['application/json', '"Dampf\\u00adschiff\u00adfahrt"'],
  ['application/xml', '<a>Dampf&#173;schiff\u00adfahrt</a>'],
  ['application/rtf', "{\\rtf1 Dampf\\-schiff\\'adfahrt}"],
])('removes soft hyphens from %s', async (contentType, content) => {
  expect(await textOf(content, contentType)).toBe('Dampfschifffahrt');
});

it('reads half a million blank lines', async () => {
  expect(await textOf(`${'\n '.repeat(500_000)}x`)).toBe('x');
});

it.each([
  [0, 5_000_000],
  [100_000, 5_000_000],
  [100_001, 5_000_050],
  [4_000_000, 200_000_000],
  [300_000_000, 200_000_000],
])('limits the text of a document of %d bytes to %d characters', (sizeBytes, characters) => {
  expect(textLimitCharacters(sizeBytes)).toBe(characters);
});

it('refuses a small document that decompresses to too much text', async () => {
  const bytes = zipOfTexts({
    'META-INF/manifest.xml': '<manifest/>',
    'content.xml': `<office:document-content><office:body><office:text><text:p>${'word '.repeat(1_001_000)}</text:p></office:text></office:body></office:document-content>`,
  });

  const text = parse(bytes, 'application/vnd.oasis.opendocument.text');

  await expect(text).rejects.toThrow(/more than 5 million characters of text, which is too much for its size/);
});

it('reports the progress of a text within its first megabyte, and reads characters whole between two pieces', async () => {
  const paragraph = `${'𝒜bc '.repeat(50)}end`;
  const text = Array.from({ length: 500 }, () => paragraph).join('\n\n');
  const parts: number[] = [];
  const source = {
    bytes: Buffer.from(text),
    contentType: 'text/plain',
    key: 'a',
    onProgress: (part: number) => parts.push(part),
  };

  const blocks: string[] = [];
  for await (const block of parseDocument(source)) blocks.push(block.text);

  expect(blocks).toEqual(Array(500).fill(paragraph));
  expect(parts.length).toBeGreaterThan(3);
  expect(parts[0]).toBe(0);
  expect(parts).toEqual(parts.toSorted((a, b) => a - b));
  expect(parts.at(-1)).toBeLessThan(1);
});
