import { imageSize } from 'image-size';
import { pdfOf, pdfOfObjects } from '@parley/testing/pdf';
import { PageRenderer, requireCanvas } from '../page-renderer';

interface Context {
  fillStyle: string;
  fillRect(x: number, y: number, width: number, height: number): void;
  translate(x: number, y: number): void;
  rotate(radians: number): void;
  drawImage(canvas: Canvas, x: number, y: number): void;
  createImageData(width: number, height: number): { data: Uint8ClampedArray };
  getImageData(x: number, y: number, width: number, height: number): { data: Uint8ClampedArray };
  putImageData(data: { data: Uint8ClampedArray }, x: number, y: number): void;
}

interface Canvas {
  width: number;
  height: number;
  getContext(kind: '2d'): Context;
  encode(format: 'png' | 'jpeg' | 'webp', quality?: number): Promise<Buffer>;
}

export interface ScanOptions {
  degrees?: number;
  /** Share of pixels that are black or white by chance. */
  noise?: number;
  format?: 'png' | 'jpeg' | 'webp' | 'tiff';
  /** Pixels of the paper around the text. Default: as little as there can be. */
  paper?: { width: number; height: number };
}

const pageHeight = 792;
const dotsPerPoint = 300 / 72;
/** In points, from the upper left corner of the page. */
const cut = { width: 440, top: 60, lineHeight: 16, margin: 30 };

/** Picture of these lines as a scanner makes it at 300 dots per inch. Characters of Latin-1 only. */
export async function scanOf(
  lines: string[],
  { degrees = 0, noise = 0, format = 'png', paper }: ScanOptions = {},
): Promise<Buffer> {
  const texts = lines.map((text, i) => ({ text, x: 40, y: pageHeight - cut.top - i * cut.lineHeight, size: 11 }));
  const renderer = await PageRenderer.open(pdfOf([texts]));
  const page = (await renderer.renderGray(1))!;
  await renderer.close();

  const width = Math.round(cut.width * dotsPerPoint);
  const height = Math.round((lines.length * cut.lineHeight + 2 * cut.margin) * dotsPerPoint);
  const from = Math.round((cut.top - cut.margin - cut.lineHeight / 2) * dotsPerPoint);
  const straight = newCanvas(width, height);
  const image = straight.getContext('2d').createImageData(width, height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const pixel = page.pixels[(y + from) * page.width + x]!;
      image.data.set([pixel, pixel, pixel, 255], 4 * (y * width + x));
    }
  }
  straight.getContext('2d').putImageData(image, 0, 0);

  const canvas = newCanvas(paper?.width ?? width, paper?.height ?? height);
  const context = canvas.getContext('2d');
  context.translate(canvas.width / 2, canvas.height / 2);
  context.rotate((degrees * Math.PI) / 180);
  context.drawImage(straight, -width / 2, -height / 2);
  if (noise > 0) addNoise(canvas, noise);
  return format === 'tiff' ? tiffOf([canvas]) : canvas.encode(format, 80);
}

/** PDF whose pages are these pictures (JPEG), or show this text. */
export function pdfOfPages(pages: (Buffer | string)[]): Buffer {
  const objects = ['<< /Type /Catalog /Pages 2 0 R >>', '', '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'];
  const kids: string[] = [];
  for (const page of pages) {
    const number = objects.length + 1;
    const isText = typeof page === 'string';
    const size = isText ? { width: 612, height: 792 } : sizeInPoints(page);
    const content = isText
      ? `BT /F 12 Tf 60 700 Td (${page}) Tj ET`
      : `q ${size.width} 0 0 ${size.height} 0 0 cm /P Do Q`;
    const resources = isText ? '/Font << /F 3 0 R >>' : `/XObject << /P ${number + 2} 0 R >>`;
    const box = `/MediaBox [0 0 ${size.width} ${size.height}]`;
    kids.push(`${number} 0 R`);
    objects.push(
      `<< /Type /Page /Parent 2 0 R ${box} /Resources << ${resources} >> /Contents ${number + 1} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ...(isText ? [] : [jpegObject(page)]),
    );
  }
  objects[1] = `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${kids.length} >>`;
  return pdfOfObjects(objects);
}

/** Uncompressed, grey, one page for each picture. */
export async function tiffOfScans(scans: Buffer[]): Promise<Buffer> {
  const { loadImage } = requireCanvas() as { loadImage: (bytes: Buffer) => Promise<Canvas> };
  const images = await Promise.all(scans.map((scan) => loadImage(scan)));
  return tiffOf(
    images.map((image) => {
      const canvas = newCanvas(image.width, image.height);
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas;
    }),
  );
}

function newCanvas(width: number, height: number): Canvas {
  const { createCanvas } = requireCanvas() as { createCanvas: (width: number, height: number) => Canvas };
  const canvas = createCanvas(width, height);
  const context = canvas.getContext('2d');
  context.fillStyle = '#fff';
  context.fillRect(0, 0, width, height);
  return canvas;
}

function addNoise(canvas: Canvas, share: number): void {
  const context = canvas.getContext('2d');
  const image = context.getImageData(0, 0, canvas.width, canvas.height);
  let state = 1;
  const random = () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
  for (let i = 0; i < image.data.length; i += 4) {
    if (random() < share) image.data.fill(random() < 0.5 ? 0 : 255, i, i + 3);
  }
  context.putImageData(image, 0, 0);
}

function sizeInPoints(jpeg: Buffer): { width: number; height: number } {
  const { width, height } = imageSize(jpeg);
  return { width: width / dotsPerPoint, height: height / dotsPerPoint };
}

function jpegObject(jpeg: Buffer): string {
  const { width, height } = imageSize(jpeg);
  const head = `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceRGB /BitsPerComponent 8`;
  return `${head} /Filter /DCTDecode /Length ${jpeg.length} >>\nstream\n${jpeg.toString('latin1')}\nendstream`;
}

function tiffOf(canvases: Canvas[]): Buffer {
  const parts = [Buffer.from('49492a0000000000', 'hex')];
  let length = 8;
  let link = { part: 0, at: 4 };
  for (const canvas of canvases) {
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    const gray = Buffer.from(Array.from({ length: width * height }, (_, i) => data[4 * i]!));
    const entries = [
      [256, width],
      [257, height],
      [258, 8],
      [259, 1],
      [262, 1],
      [273, length],
      [277, 1],
      [278, height],
      [279, gray.length],
    ];
    const directory = Buffer.alloc(2 + entries.length * 12 + 4);
    directory.writeUInt16LE(entries.length, 0);
    for (const [i, [tag, value]] of entries.entries()) {
      directory.writeUInt16LE(tag!, 2 + i * 12);
      directory.writeUInt16LE(4, 4 + i * 12);
      directory.writeUInt32LE(1, 6 + i * 12);
      directory.writeUInt32LE(value!, 10 + i * 12);
    }
    parts[link.part]!.writeUInt32LE(length + gray.length, link.at);
    link = { part: parts.length + 1, at: directory.length - 4 };
    parts.push(gray, directory);
    length += gray.length + directory.length;
  }
  return Buffer.concat(parts);
}
