import { crc32 } from 'node:zlib';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { UnreadableDocument } from './block';
import { mostArchiveBytes, mostArchiveEntries, mostArchiveEntryBytes } from './limits';

const localHeaderBytes = 30;
const endRecordBytes = 22;
/** Bytes behind the end record, the comment of the archive included, up to which it is searched. */
const longestTail = 1_000_000;
/** In place of an offset that a ZIP64 record has. */
const unknownOffset = 0xffff_ffff;
const endSignature = Buffer.from('504b0506', 'hex');
const entrySignature = Buffer.from('504b0102', 'hex');
const oleSignature = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/**
 * ZIP reader: decompresses entries in memory, on demand. Decompression bombs: declared sizes are checked first, an
 * entry that unpacks to another size than declared is an error, and repeated reads of one entry count each time. Entry
 * names are never used as file paths. Throws UnreadableDocument for any defect.
 */
export class Archive {
  private unpacked = 0;

  private constructor(
    private readonly zip: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
    private readonly mostBytes: number,
    private readonly within: Archive | undefined,
  ) {}

  /**
   * @param save format that the error for legacy or incomplete documents recommends ("save it as ...").
   * @param within archive that has this one as a part; the bytes of both count together
   */
  static async open(
    bytes: Buffer,
    { save, mostBytes = mostArchiveBytes, within }: { save: string; mostBytes?: number; within?: Archive },
  ): Promise<Archive> {
    refuseOle(bytes, save);
    try {
      const zip = await fromBufferPromise(withoutSurroundings(bytes));
      if (zip.entryCount > mostArchiveEntries) {
        throw new UnreadableDocument(
          `The document has more than ${mostArchiveEntries} parts. Split it into smaller files.`,
        );
      }
      const entries: Entry[] = [];
      for await (const entry of zip.eachEntry()) entries.push(entry);
      refuseBombs(entries, mostBytes);
      return new Archive(zip, new Map(entries.map((entry) => [keyOf(entry.fileName), entry])), mostBytes, within);
    } catch (error) {
      throw asUnreadable(error, save);
    }
  }

  names(): string[] {
    return Array.from(this.entries.values(), ({ fileName }) => fileName);
  }

  has(name: string): boolean {
    return this.entries.has(keyOf(name));
  }

  async read(name: string): Promise<Buffer> {
    const entry = this.entries.get(keyOf(name));
    if (!entry) throw damaged(`it lacks its part ${name}`);
    if (entry.isEncrypted()) throw new UnreadableDocument(protectedByPassword);
    try {
      const parts: Buffer[] = [];
      for await (const part of await this.zip.openReadStreamPromise(entry)) parts.push(part as Buffer);
      const content = Buffer.concat(parts);
      this.count(content.length);
      if (crc32(content) !== entry.crc32) throw damaged(`the checksum of its part ${name} is wrong`);
      return content;
    } catch (error) {
      throw asUnreadable(error);
    }
  }

  private count(bytes: number): void {
    this.unpacked += bytes;
    if (this.unpacked > this.mostBytes) throw tooLarge(this.mostBytes);
    this.within?.count(bytes);
  }
}

export const protectedByPassword =
  'The document is protected with a password. Remove the protection and upload it again.';

export function damaged(reason: string): UnreadableDocument {
  return new UnreadableDocument(`The document is damaged: ${reason}. Save it again, and upload that file.`);
}

export function isOther(expected: string): UnreadableDocument {
  return new UnreadableDocument(
    `The content is not the declared ${expected}: upload it with the content type that matches its content.`,
  );
}

/**
 * Bytes from the first local header to the end record, without a comment. Others before and after it, as mail gateways
 * and self-extracting archives add, do not concern Word and `unzip`.
 */
function withoutSurroundings(bytes: Buffer): Buffer {
  const least = Math.max(0, bytes.length - endRecordBytes - longestTail);
  for (let at = lastEnd(bytes, bytes.length); at >= least; at = lastEnd(bytes, at - 1)) {
    const end = at + endRecordBytes;
    if (end > bytes.length) continue;
    const [size, offset] = [bytes.readUInt32LE(at + 12), bytes.readUInt32LE(at + 16)];
    const isZip64 = offset === unknownOffset;
    const start = isZip64 ? 0 : at - size - offset;
    if (start < 0 || size === 0) continue;
    if (!isZip64 && !bytes.subarray(at - size, at - size + 4).equals(entrySignature)) continue;
    const archive = bytes.subarray(start, end);
    if (archive.readUInt16LE(archive.length - 2) === 0) return archive;
    const withoutComment = Buffer.from(archive);
    withoutComment.writeUInt16LE(0, withoutComment.length - 2);
    return withoutComment;
  }
  return bytes;
}

function lastEnd(bytes: Buffer, before: number): number {
  return before < 0 ? -1 : bytes.lastIndexOf(endSignature, before);
}

export function isCompoundFile(bytes: Buffer): boolean {
  return bytes.subarray(0, oleSignature.length).equals(oleSignature);
}

/** OLE compound file: either an encrypted OOXML document or a legacy Office document. */
function refuseOle(bytes: Buffer, save: string): void {
  if (!isCompoundFile(bytes)) return;
  if (bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'))) throw new UnreadableDocument(protectedByPassword);
  throw new UnreadableDocument(
    `The document has an Office format from before 2007: save it as ${save}, and upload that.`,
  );
}

function tooLarge(mostBytes: number): UnreadableDocument {
  return new UnreadableDocument(
    `The document unpacks to more than ${mostBytes / 1e6} MB, ` +
      `or a part of it to more than ${mostArchiveEntryBytes / 1e6} MB. Split it into smaller files.`,
  );
}

/** Names of parts of Office documents differ in more than upper and lower case. */
function keyOf(name: string): string {
  return name.toLowerCase();
}

function refuseBombs(entries: Entry[], mostBytes: number): void {
  const total = entries.reduce((sum, entry) => sum + entry.uncompressedSize, 0);
  if (total > mostBytes || entries.some((entry) => entry.uncompressedSize > mostArchiveEntryBytes)) {
    throw tooLarge(mostBytes);
  }
  const inOrder = entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader);
  inOrder.forEach((entry, index) => {
    const end = entry.relativeOffsetOfLocalHeader + localHeaderBytes + entry.compressedSize;
    const next = inOrder[index + 1];
    if (next && end > next.relativeOffsetOfLocalHeader) throw damaged('parts of its archive overlap');
  });
}

function asUnreadable(error: unknown, save?: string): UnreadableDocument {
  if (error instanceof UnreadableDocument) return error;
  const { message } = error as Error;
  if (save && message.startsWith('End of central directory')) {
    return new UnreadableDocument(`The content is not a complete document: save it as ${save}, and upload that.`);
  }
  return message.includes('encrypt') ? new UnreadableDocument(protectedByPassword) : damaged(message);
}
