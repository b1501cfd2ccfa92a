import { readFileSync } from 'node:fs';
import { UnreadableDocument } from './block';
import { mostArchiveEntries } from './limits';
import { type Part, zipOf, zipOfTexts } from './test/zip-of';
import { Archive } from './zip';

const open = (bytes: Buffer) => Archive.open(bytes, { save: '.docx' });
const openParts = (parts: Part[]) => open(zipOf(parts));
const zeros = (bytes: number) => Buffer.alloc(bytes);

async function refusal(attempt: Promise<unknown>): Promise<string> {
  const error: unknown = await attempt.then(() => undefined).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UnreadableDocument);
  return (error as Error).message;
}

it('reads parts of an archive by name', async () => {
  const archive = await open(zipOfTexts({ 'a.xml': 'one', 'folder/ü.xml': 'two' }));

  expect(archive.has('a.xml')).toBe(true);
  expect(archive.has('b.xml')).toBe(false);
  expect((await archive.read('folder/ü.xml')).toString()).toBe('two');
});

it('names a missing part of an archive', async () => {
  const archive = await open(zipOfTexts({ 'a.xml': 'one' }));

  expect(await refusal(archive.read('b.xml'))).toMatch(/lacks its part b\.xml/);
});

describe('a bomb', () => {
  it('refuses a bomb by its declared size', async () => {
    const parts = Array.from({ length: 3 }, (_, i) => ({ name: `${i}`, content: 'x', declaredSize: 190_000_000 }));

    expect(await refusal(openParts(parts))).toMatch(/more than 512 MB/);
    expect(await refusal(openParts([{ name: 'a', content: 'x', declaredSize: 201_000_000 }]))).toMatch(
      /to more than 200 MB/,
    );
  });

  it('refuses an archive whose entry unpacks to more or less than its declared size', async () => {
    const larger = await openParts([{ name: 'a', content: zeros(1_000_000), declaredSize: 1000 }]);
    const smaller = await openParts([{ name: 'a', content: 'abc', declaredSize: 1000 }]);

    expect(await refusal(larger.read('a'))).toMatch(/damaged/);
    expect(await refusal(smaller.read('a'))).toMatch(/damaged/);
  });

  it('refuses to read the same part repeatedly beyond the limit', async () => {
    const archive = await Archive.open(zipOf([{ name: 'a', content: zeros(1_000_000) }]), {
      save: '.docx',
      mostBytes: 2_000_000,
    });

    await archive.read('a');
    await archive.read('a');

    expect(await refusal(archive.read('a'))).toMatch(/more than 2 MB/);
  });

  it('refuses a bomb by its number of entries', async () => {
    const bytes = zipOf(Array.from({ length: mostArchiveEntries }, (_, i) => ({ name: `${i}`, content: '' })));

    await expect(open(bytes)).resolves.toBeDefined();

    // The total number of entries is 12 bytes before the end.
    bytes.writeUInt16LE(mostArchiveEntries + 1, bytes.length - 12);
    expect(await refusal(open(bytes))).toMatch(/more than 10000 parts/);
  });

  it('refuses an archive with overlapping entries', async () => {
    const parts = [
      { name: 'a', content: 'first'.repeat(100) },
      { name: 'b', content: 'second', offset: 0 },
    ];

    expect(await refusal(openParts(parts))).toMatch(/overlap/);
  });

  it('refuses an archive with the local header of an entry inside another entry', async () => {
    const inner = zipOfTexts({ b: 'inner' });
    const parts = [
      { name: 'a', content: inner },
      { name: 'b', content: 'inner', offset: 20 },
    ];

    expect(await refusal(openParts(parts))).toMatch(/overlap/);
  });
});

it.each(['../../etc/passwd', '/etc/passwd', 'a/../../b', '..\\b', 'C:/b'])(
  'refuses the name %s of a part',
  async (name) => {
    expect(await refusal(openParts([{ name, content: 'x' }]))).toMatch(/damaged/);
  },
);

it('refuses a part of an archive with a wrong checksum', async () => {
  const archive = await openParts([{ name: 'a', content: 'abc', checksum: 1 }]);

  expect(await refusal(archive.read('a'))).toMatch(/checksum of its part a/);
});

it('reports an encrypted part of an archive', async () => {
  const archive = await openParts([{ name: 'a', content: 'abc', isEncrypted: true }]);

  expect(await refusal(archive.read('a'))).toMatch(/protected with a password/);
});

it('refuses an archive truncated at any length', async () => {
  const whole = readFileSync('test/fixtures/documents/libreoffice.docx');

  for (let length = 0; length < whole.length; length += 97) {
    expect(await refusal(open(whole.subarray(0, length)))).toMatch(/upload that/);
  }
});

it('distinguishes an encrypted document from a legacy Office document', async () => {
  const ole = Buffer.from('d0cf11e0a1b11ae1', 'hex');
  const encrypted = Buffer.concat([ole, zeros(500), Buffer.from('EncryptedPackage', 'utf16le')]);

  expect(await refusal(open(encrypted))).toMatch(/protected with a password/);
  expect(await refusal(open(Buffer.concat([ole, zeros(500)])))).toMatch(/before 2007: save it as \.docx/);
});

it('counts the bytes of archives within an archive together', async () => {
  const inner = zipOf([{ name: 'a', content: zeros(1_000_000) }]);
  const outer = await Archive.open(zipOf([{ name: 'b', content: inner }]), { save: '.docx', mostBytes: 2_500_000 });
  const openInner = () => Archive.open(inner, { save: '.docx', within: outer });

  await (await openInner()).read('a');
  await (await openInner()).read('a');

  expect(await refusal((await openInner()).read('a'))).toMatch(/more than 2.5 MB/);
});

describe('bytes around an archive', () => {
  const archive = zipOfTexts({ 'Word/Document.xml': 'one', 'b.xml': 'two' });
  const comment = (text: string, bytes = archive) => {
    const commented = Buffer.concat([bytes, Buffer.from(text)]);
    commented.writeUInt16LE(text.length, bytes.length - 2);
    return commented;
  };

  it.each<[string, Buffer]>([
    ['a byte behind it', Buffer.concat([archive, Buffer.from('\n')])],
    ['kilobytes behind it', Buffer.concat([archive, zeros(100_000)])],
    ['bytes before it', Buffer.concat([Buffer.from('\r\n--boundary\r\n'), archive])],
    ['bytes before and behind it', Buffer.concat([zeros(70_000), archive, Buffer.from('\r\n--boundary--')])],
    ['a comment', comment('a comment')],
    ['a comment and bytes behind it', Buffer.concat([comment('a comment'), zeros(7)])],
    ['a comment that is cut', comment('a comment').subarray(0, -4)],
    ['a comment that looks like an end', comment('PK\x05\x06 and more than twenty-two bytes')],
    [
      'an end behind it that belongs to no archive',
      Buffer.concat([archive, Buffer.from('504b0506', 'hex'), zeros(30)]),
    ],
  ])('does not refuse an archive with %s', async (_, bytes) => {
    const opened = await open(bytes);

    expect(opened.names()).toEqual(['Word/Document.xml', 'b.xml']);
    expect((await opened.read('b.xml')).toString()).toBe('two');
  });

  it('finds parts by names in upper and lower case', async () => {
    const opened = await open(archive);

    expect(opened.has('word/document.xml')).toBe(true);
    expect((await opened.read('word/document.xml')).toString()).toBe('one');
  });

  it('searches the end of an archive in linear time', async () => {
    const ends = Buffer.from('504b0506', 'hex').toString('latin1').repeat(500_000);

    expect(await refusal(open(Buffer.from(`PK\x03\x04${ends}`, 'latin1')))).toMatch(/damaged|not a complete document/);
  });
});
