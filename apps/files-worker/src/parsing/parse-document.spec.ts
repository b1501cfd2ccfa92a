import { UnreadableDocument } from './block';
import { parseDocument } from './parse-document';

const parse = (content: string | Buffer, contentType = 'text/plain', key = 'a') =>
  parseDocument(Buffer.from(content as string), { contentType, key });
const textOf = (content: string | Buffer, contentType?: string, key?: string) =>
  parse(content, contentType, key)
    .map((block) => block.text)
    .join('\n\n');

describe('format', () => {
  it.each([
    ['text/markdown', 'a', 'title'],
    ['Text/Markdown; charset=utf-8', 'a.txt', 'title'],
    ['text/plain', 'folder/a.MD', 'title'],
    ['application/octet-stream', 'a.markdown', 'title'],
    ['text/plain', 'a.txt', 'paragraph'],
    ['text/csv', 'a.csv', 'paragraph'],
    ['text/html', 'a.md', 'paragraph'],
  ])('reads %s named %s so that a line with # is a %s', (contentType, key, type) => {
    expect(parse('# hello', contentType, key)[0]).toMatchObject({ type });
  });

  it.each(['application/pdf', 'image/png', 'application/octet-stream', ''])('refuses %s with a way out', (type) => {
    expect(() => parse('hello', type, 'a.bin')).toThrow(UnreadableDocument);
    expect(() => parse('hello', type, 'a.bin')).toThrow(/cannot be indexed.*text\/plain.*text\/markdown.*text\/html/);
  });

  it('lets an XHTML element close itself', () => {
    const page = '<html><head><title/><script src="a.js"/></head><body><div/><p>Here</p></body></html>';

    expect(parse(page, 'application/xhtml+xml')).toEqual([{ type: 'paragraph', text: 'Here' }]);
  });
});

describe('encoding', () => {
  it.each<[string, Buffer]>([
    ['UTF-8', Buffer.from('Käse 🧀')],
    ['UTF-8 with a mark', Buffer.from('\uFEFFKäse 🧀')],
    ['UTF-16 little endian', Buffer.from('\uFEFFKäse 🧀', 'utf16le')],
    ['UTF-16 big endian', Buffer.from('\uFEFFKäse 🧀', 'utf16le').swap16()],
  ])('reads %s', (_, bytes) => {
    expect(textOf(bytes)).toBe('Käse 🧀');
  });

  it('reads undeclared Latin text as windows-1252', () => {
    expect(textOf(Buffer.from('caf\xe9 \x80 5', 'latin1'))).toBe('café € 5');
  });

  it('replaces the few bad bytes of a text that is otherwise UTF-8', () => {
    expect(textOf(Buffer.concat([Buffer.from('é à ü words '), Buffer.from([0xff]), Buffer.from(' ñ')]))).toBe(
      'é à ü words \uFFFD ñ',
    );
  });

  it.each([
    ['text/plain; charset=shift_jis', ''],
    ['text/html', '<meta charset="shift_jis">'],
  ])('follows the charset that is declared (%s%s)', (contentType, start) => {
    const japanese = Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea]);

    expect(textOf(Buffer.concat([Buffer.from(start), japanese]), contentType)).toBe('日本語');
  });

  it.each<[string, Buffer]>([
    ['bytes of all kinds', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 256))],
    ['NULs', Buffer.concat([Buffer.from('ELF'), Buffer.alloc(100)])],
    ['UTF-16 without a mark', Buffer.from('hello there', 'utf16le')],
    ['nothing but bad bytes', Buffer.alloc(50, 0x81)],
  ])('refuses a binary that calls itself text: %s', (_, bytes) => {
    expect(() => parse(bytes, 'text/plain', 'a.txt')).toThrow(UnreadableDocument);
    expect(() => parse(bytes, 'text/plain', 'a.txt')).toThrow(/binary.*UTF-8/);
  });

  it('drops what Postgres cannot store', () => {
    const text = 'word '.repeat(100);

    expect(textOf(`${text}a\0b`)).toBe(`${text}ab`);
    expect(textOf('a&#0;&#1;&#xD800;b', 'text/html')).toMatch(/^a\uFFFD*b$/);
  });
});

describe('plain text', () => {
  it('has a paragraph between blank lines, whatever the line ends', () => {
    expect(parse('One\r\nstill one\r\n \t\r\n\r\n# Two\rstill two\n')).toEqual([
      { type: 'paragraph', text: 'One\nstill one' },
      { type: 'paragraph', text: '# Two\nstill two' },
    ]);
  });

  it.each([
    ['', 'text/plain'],
    [' \n\t\n', 'text/plain'],
    ['<p> </p><script>a()</script>', 'text/html'],
    ['[a]: b', 'text/markdown'],
  ])('is missed in %j', (content, contentType) => {
    expect(() => parse(content, contentType)).toThrow(/no text found/);
  });
});

it.each(['text/plain', 'text/markdown', 'text/html'])('reads one line of 20 MB as %s', (contentType) => {
  const line = 'word '.repeat(4_000_000);

  expect(textOf(line, contentType)).toHaveLength(line.length - 1);
});

it('reads ten million blank lines', () => {
  expect(textOf(`${'\n '.repeat(10_000_000)}x`)).toBe('x');
});
