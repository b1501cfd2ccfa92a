import { imageSize } from 'image-size';
import { UnreadableDocument } from './block';
import { grayOf, graymapOf, isBlank } from './gray-picture';
import { longestOcrSide, mostOcrPixels, mostOcrPages } from './limits';
import { requireCanvas } from './page-renderer';

interface Canvas {
  width: number;
  height: number;
  getContext(kind: '2d'): {
    fillStyle: string;
    imageSmoothingQuality: 'high';
    fillRect(x: number, y: number, width: number, height: number): void;
    drawImage(image: Size, x: number, y: number, width: number, height: number): void;
  };
  data(): Uint8Array;
}

interface CanvasPackage {
  createCanvas: (width: number, height: number) => Canvas;
  loadImage: (bytes: Buffer) => Promise<Size>;
}

interface Size {
  width: number;
  height: number;
}

/** Below it, letters of a screenshot are too small. */
const smallSide = 1_200;
const directoryEntryBytes = 12;

/**
 * The pages of a picture file in a form that TextRecogniser reads; undefined for a blank one. Throws UnreadableDocument when it
 * is damaged, or has more pixels than can be decoded.
 */
export async function* picturePages(bytes: Buffer): AsyncGenerator<{ page: number; of: number; picture?: Uint8Array }> {
  const { type } = sizeOf(bytes);
  if (type === 'tiff') yield* tiffPages(bytes);
  else yield { page: 1, of: 1, picture: await decoded(bytes) };
}

async function decoded(bytes: Buffer): Promise<Uint8Array | undefined> {
  const { createCanvas, loadImage } = requireCanvas() as CanvasPackage;
  const image = await loadImage(bytes).catch(() => {
    throw damaged();
  });
  const longest = Math.max(image.width, image.height);
  const scale = longest < smallSide ? 2 : Math.min(1, longestOcrSide / longest);
  const width = Math.max(1, Math.round(image.width * scale));
  const height = Math.max(1, Math.round(image.height * scale));
  const canvas = createCanvas(width, height);
  const context = canvas.getContext('2d');
  context.fillStyle = '#fff';
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, 0, 0, width, height);
  const gray = grayOf(canvas.data(), width, height);
  return isBlank(gray) ? undefined : graymapOf(gray);
}

/** The recogniser reads the first page of a TIFF, so each of its pages is made the first one in turn. */
function* tiffPages(bytes: Buffer): Generator<{ page: number; of: number; picture: Uint8Array }> {
  const directories = directoriesOf(bytes);
  for (const [i, offset] of directories.entries()) {
    const picture = Buffer.from(bytes);
    write32(picture, offset, 4);
    sizeOf(picture);
    yield { page: i + 1, of: directories.length, picture };
  }
}

function directoriesOf(bytes: Buffer): number[] {
  const offsets: number[] = [];
  try {
    let offset = read32(bytes, 4);
    while (offset !== 0 && !offsets.includes(offset)) {
      offsets.push(offset);
      if (offsets.length > mostOcrPages) throw tooManyPages('The TIFF');
      const entries = isLittleEndian(bytes) ? bytes.readUInt16LE(offset) : bytes.readUInt16BE(offset);
      offset = read32(bytes, offset + 2 + entries * directoryEntryBytes);
    }
  } catch (error) {
    if (error instanceof RangeError) throw damaged();
    throw error;
  }
  return offsets;
}

const isLittleEndian = (bytes: Buffer) => bytes[0] === 0x49;

function read32(bytes: Buffer, at: number): number {
  return isLittleEndian(bytes) ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
}

function write32(bytes: Buffer, value: number, at: number): void {
  if (isLittleEndian(bytes)) bytes.writeUInt32LE(value, at);
  else bytes.writeUInt32BE(value, at);
}

function sizeOf(bytes: Buffer): Size & { type?: string } {
  let size: Size & { type?: string };
  try {
    size = imageSize(bytes);
  } catch {
    throw damaged();
  }
  if (size.width * size.height <= mostOcrPixels) return size;
  throw new UnreadableDocument(
    `The picture has ${size.width} × ${size.height} pixels; at most ${mostOcrPixels / 1e6} million can be read. ` +
      'Scale it down: 300 dots per inch are enough.',
  );
}

function damaged(): UnreadableDocument {
  return new UnreadableDocument(
    'The picture is damaged and cannot be read. Open it in another program, save it again, and upload the new file.',
  );
}

export function tooManyPages(subject: string): UnreadableDocument {
  return new UnreadableDocument(
    `${subject} has more than ${mostOcrPages} pages to be read by OCR. Split it into smaller files.`,
  );
}
