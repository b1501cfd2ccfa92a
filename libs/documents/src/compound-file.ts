import { UnreadableDocument } from './block';
import { damaged, isOther, protectedByPassword } from './zip';

const headerBytes = 512;
const entryBytes = 128;
const miniSectorBytes = 64;
const firstFatSectors = 109;
/** Numbers above this one mark free sectors and the ends of chains. */
const lastSector = 0xffff_fffa;
const endOfChain = 0xffff_fffe;
const noEntry = 0xffff_ffff;
/** Streams do not share sectors, so that all of them together are no longer than the file. A reader may read one again. */
const mostReadings = 4;

interface Stream {
  start: number;
  size: number;
}

/** Folder of a compound file. Names are in lower case. */
export interface Storage {
  streams: Map<string, Stream>;
  storages: Map<string, Storage>;
}

interface Entry extends Stream {
  name: string;
  type: number;
  left: number;
  right: number;
  child: number;
}

/**
 * OLE compound file, as in Office before 2007 (MS-CFB). Streams are read on demand. Chains of sectors that go in a
 * circle, leave the file or share sectors are errors: no chain is followed further than the file is long.
 */
export class CompoundFile {
  readonly root: Storage = { streams: new Map(), storages: new Map() };
  private readonly sectorBytes: number;
  private readonly sectors: number;
  private readonly miniStreamLimit: number;
  private readonly fat: number[];
  private readonly miniFat: number[];
  private readonly miniStream: Buffer;
  private readBytes = 0;

  constructor(private readonly bytes: Buffer) {
    if (bytes.length < headerBytes) throw damaged('it is truncated');
    const shift = bytes.readUInt16LE(30);
    if (shift !== 9 && shift !== 12) throw damaged(`the size of its sectors, 2^${shift}, is not valid`);
    this.sectorBytes = 2 ** shift;
    this.sectors = Math.max(0, Math.ceil(bytes.length / this.sectorBytes) - 1);
    this.miniStreamLimit = bytes.readUInt32LE(56);
    this.fat = this.allocationTable();
    const directory = this.bytesOf(this.chain(bytes.readUInt32LE(48)));
    const entries = Array.from({ length: Math.floor(directory.length / entryBytes) }, (_, index) =>
      entryAt(directory, index * entryBytes, shift),
    );
    const root = entries[0];
    if (!root) throw damaged('it has no directory');
    this.miniFat = numbersIn(this.bytesOf(this.chain(bytes.readUInt32LE(60))));
    this.miniStream = root.start > lastSector ? Buffer.alloc(0) : this.bytesOf(this.chain(root.start));
    fillStorages(this.root, entries);
  }

  has(name: string): boolean {
    return this.root.streams.has(name.toLowerCase());
  }

  /** Undefined for a stream that does not exist. */
  find(name: string, storage = this.root): Buffer | undefined {
    const stream = storage.streams.get(name.toLowerCase());
    return stream && this.read(stream);
  }

  get(name: string, storage = this.root): Buffer {
    const content = this.find(name, storage);
    if (!content) throw damaged(`it lacks its part ${name}`);
    return content;
  }

  private read({ start, size }: Stream): Buffer {
    if (size === 0) return Buffer.alloc(0);
    this.readBytes += size;
    if (size > this.bytes.length || this.readBytes > this.bytes.length * mostReadings) {
      throw damaged('its parts are longer than the file');
    }
    if (size >= this.miniStreamLimit) return this.bytesOf(this.chain(start)).subarray(0, size);
    const parts = chainIn(this.miniFat, start, this.miniFat.length).map((number) =>
      this.miniStream.subarray(number * miniSectorBytes, (number + 1) * miniSectorBytes),
    );
    return Buffer.concat(parts).subarray(0, size);
  }

  /** Sectors of the allocation table: the first ones are in the header, the others in a chain of lists. */
  private allocationTable(): number[] {
    const numbers: number[] = [];
    for (let i = 0; i < firstFatSectors; i++) numbers.push(this.bytes.readUInt32LE(76 + 4 * i));
    const lists = new Set<number>();
    for (let list = this.bytes.readUInt32LE(68); list <= lastSector;) {
      if (lists.has(list)) throw damaged('its sectors go in a circle');
      lists.add(list);
      const entries = numbersIn(this.sector(list));
      list = entries.pop() ?? endOfChain;
      for (const entry of entries) numbers.push(entry);
    }
    const used = [...new Set(numbers)].filter((number) => number < this.sectors);
    return used.flatMap((number) => numbersIn(this.sector(number))).slice(0, this.sectors);
  }

  private chain(start: number): number[] {
    return chainIn(this.fat, start, this.sectors);
  }

  private bytesOf(numbers: number[]): Buffer {
    return Buffer.concat(numbers.map((number) => this.sector(number)));
  }

  /** The last sector of a file may be cut. */
  private sector(number: number): Buffer {
    if (number >= this.sectors) throw damaged('it is truncated');
    const start = (number + 1) * this.sectorBytes;
    return this.bytes.subarray(start, start + this.sectorBytes);
  }
}

/** Opens a document that has one of these parts. Throws UnreadableDocument for encrypted and for other ones. */
export function openOffice(bytes: Buffer, { parts, expected }: { parts: string[]; expected: string }): CompoundFile {
  const file = new CompoundFile(bytes);
  if (parts.some((part) => file.has(part))) return file;
  if (file.has('EncryptedPackage') || file.has('\tDRMContent')) throw new UnreadableDocument(protectedByPassword);
  throw isOther(expected);
}

function chainIn(table: number[], start: number, most: number): number[] {
  const numbers: number[] = [];
  for (let number = start; number <= lastSector; number = table[number] ?? endOfChain) {
    if (number >= most) throw damaged('it is truncated');
    numbers.push(number);
    if (numbers.length > most) throw damaged('its sectors go in a circle');
  }
  return numbers;
}

function numbersIn(bytes: Buffer): number[] {
  const numbers: number[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) numbers.push(bytes.readUInt32LE(at));
  return numbers;
}

function entryAt(directory: Buffer, at: number, shift: number): Entry {
  const length = Math.min(64, directory.readUInt16LE(at + 64));
  // Files with small sectors may have anything in the upper half of the size.
  const upper = shift === 9 ? 0 : directory.readUInt32LE(at + 124);
  return {
    name: directory.toString('utf16le', at, at + Math.max(0, length - 2)).toLowerCase(),
    type: directory[at + 66]!,
    left: directory.readUInt32LE(at + 68),
    right: directory.readUInt32LE(at + 72),
    child: directory.readUInt32LE(at + 76),
    start: directory.readUInt32LE(at + 116),
    size: upper * 2 ** 32 + directory.readUInt32LE(at + 120),
  };
}

/** Each entry is met once, whatever the trees of siblings say. */
function fillStorages(root: Storage, entries: Entry[]): void {
  const met = new Set([0]);
  const pending = [{ number: entries[0]!.child, storage: root }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { number, storage } = next;
    const entry = number === noEntry || met.has(number) ? undefined : entries[number];
    if (!entry) continue;
    met.add(number);
    const { name, type, left, right, child, start, size } = entry;
    pending.push({ number: left, storage }, { number: right, storage });
    if (type === 2) storage.streams.set(name, { start, size });
    else if (type === 1) {
      const inner: Storage = { streams: new Map(), storages: new Map() };
      storage.storages.set(name, inner);
      pending.push({ number: child, storage: inner });
    }
  }
}
