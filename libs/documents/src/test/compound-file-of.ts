export interface Folder {
  [name: string]: Buffer | Folder;
}

/** Above this size the sectors are large, so that the head has the whole allocation table. */
const mostInSmallSectors = 5_000_000;
const endOfChain = 0xffff_fffe;
const free = 0xffff_ffff;

interface Entry {
  name: string;
  type: number;
  content?: Buffer;
  child: number;
  right: number;
}

/** Hand-written compound file: each stream in sectors of its own, siblings in a row. */
export function compoundFileOf(folder: Folder): Buffer {
  const entries: Entry[] = [{ name: 'Root Entry', type: 5, child: free, right: free }];
  addAll(entries, folder, 0);
  const size = entries.reduce((sum, { content }) => sum + 128 + (content?.length ?? 0), 0);
  const shift = size > mostInSmallSectors ? 12 : 9;
  const sectorBytes = 2 ** shift;
  const streams: Buffer[] = [];
  const fat: number[] = [];
  const place = (content: Buffer): number => {
    if (content.length === 0) return endOfChain;
    const start = fat.length;
    const sectors = Math.ceil(content.length / sectorBytes);
    for (let i = 1; i <= sectors; i++) fat.push(i === sectors ? endOfChain : start + i);
    streams.push(Buffer.concat([content], sectors * sectorBytes));
    return start;
  };
  const starts = entries.map(({ content }) => (content ? place(content) : endOfChain));
  const directory = place(Buffer.concat(entries.map((entry, index) => entryOf(entry, starts[index]!))));
  const fatSectors = Math.ceil(fat.length / (sectorBytes / 4 - 1));
  const fatStart = fat.length;
  const table = Buffer.alloc(fatSectors * sectorBytes, 0xff);
  for (const [index, next] of [...fat, ...new Array<number>(fatSectors).fill(0xffff_fffd)].entries()) {
    table.writeUInt32LE(next, index * 4);
  }
  const header = Buffer.alloc(sectorBytes);
  header.write('d0cf11e0a1b11ae1', 'hex');
  header.writeUInt16LE(0x3e, 24);
  header.writeUInt16LE(3, 26);
  header.writeUInt16LE(0xfffe, 28);
  header.writeUInt16LE(shift, 30);
  header.writeUInt16LE(6, 32);
  header.writeUInt32LE(fatSectors, 44);
  header.writeUInt32LE(directory, 48);
  header.writeUInt32LE(0, 56);
  header.writeUInt32LE(endOfChain, 60);
  header.writeUInt32LE(endOfChain, 68);
  header.fill(0xff, 76, 512);
  for (let i = 0; i < Math.min(109, fatSectors); i++) header.writeUInt32LE(fatStart + i, 76 + 4 * i);
  return Buffer.concat([header, ...streams, table]);
}

function addAll(entries: Entry[], folder: Folder, parent: number): void {
  let before: number | undefined;
  for (const [name, content] of Object.entries(folder)) {
    const index = entries.length;
    if (before === undefined) entries[parent]!.child = index;
    else entries[before]!.right = index;
    before = index;
    const isStream = Buffer.isBuffer(content);
    entries.push({ name, type: isStream ? 2 : 1, child: free, right: free, ...(isStream && { content }) });
    if (!isStream) addAll(entries, content, index);
  }
}

function entryOf({ name, type, content, child, right }: Entry, start: number): Buffer {
  const entry = Buffer.alloc(128);
  entry.write(name, 'utf16le');
  entry.writeUInt16LE(name.length * 2 + 2, 64);
  entry[66] = type;
  entry.writeUInt32LE(free, 68);
  entry.writeUInt32LE(right, 72);
  entry.writeUInt32LE(child, 76);
  entry.writeUInt32LE(start, 116);
  entry.writeUInt32LE(content?.length ?? 0, 120);
  return entry;
}
