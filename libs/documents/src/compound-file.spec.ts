import { CompoundFile } from './compound-file';
import { compoundFileOf } from './test/compound-file-of';

const free = 0xffff_ffff;
const long = Buffer.alloc(3_000, 'abc');
const whole = () => compoundFileOf({ One: long, Folder: { Two: Buffer.from('two') } });

it('reads streams and folders without regard to upper and lower case', () => {
  const file = new CompoundFile(whole());

  expect(file.get('one')).toEqual(long);
  expect(file.get('TWO', file.root.storages.get('folder')).toString()).toBe('two');
  expect(file.find('Three')).toBeUndefined();
  expect(() => file.get('Three')).toThrow('it lacks its part Three');
});

it('refuses chains of sectors that go in a circle', () => {
  const bytes = whole();
  // The table is in the last sector; the first sector refers to itself.
  bytes.writeUInt32LE(0, bytes.length - 512);

  expect(() => new CompoundFile(bytes).get('One')).toThrow(/go in a circle/);
});

it('refuses lists of the allocation table that go in a circle', () => {
  const bytes = whole();
  bytes.writeUInt32LE(0, 68);
  bytes.writeUInt32LE(0, 512 + 508);

  expect(() => new CompoundFile(bytes)).toThrow(/go in a circle/);
});

it.each([
  ['a sector behind its end', (bytes: Buffer) => bytes.writeUInt32LE(0x7fff_ffff, 48), /truncated/],
  ['sectors of 2 GB', (bytes: Buffer) => bytes.writeUInt16LE(31, 30), /size of its sectors, 2\^31/],
  ['no more than its head', (bytes: Buffer) => bytes.fill(0xff, 44), /directory|truncated/],
])('refuses a file with %s', (_, change, reason) => {
  const bytes = whole();
  change(bytes);

  expect(() => new CompoundFile(bytes)).toThrow(reason);
});

it('refuses streams that are longer than the file, and ones that share sectors', () => {
  const size = (bytes: Buffer, value: number) => {
    const entry = bytes.indexOf(Buffer.from('One\0', 'utf16le'));
    bytes.writeUInt32LE(value, entry + 120);
    return new CompoundFile(bytes);
  };

  expect(() => size(whole(), 1_000_000_000).get('One')).toThrow(/longer than the file/);
  const again = new CompoundFile(whole());
  expect(() => {
    for (let i = 0; i < 10; i++) again.get('One');
  }).toThrow(/longer than the file/);
});

it('meets each entry of its directory once', () => {
  const bytes = whole();
  const root = bytes.indexOf(Buffer.from('Root Entry', 'utf16le'));
  const one = bytes.indexOf(Buffer.from('One\0', 'utf16le'));
  bytes.writeUInt32LE(1, one + 68);
  bytes.writeUInt32LE(1, one + 72);
  bytes.writeUInt32LE(free, root + 68);

  expect([...new CompoundFile(bytes).root.streams.keys()]).toEqual(['one']);
});

it('reads a file whose last sector is cut', () => {
  expect(new CompoundFile(whole().subarray(0, -300)).get('One')).toEqual(long);
});
