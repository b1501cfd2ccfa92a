import { createRequire } from 'node:module';
import type { PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api';
import { UnreadableDocument } from './block';
import { type GrayPicture, grayOf } from './gray-picture';
import { longestOcrSide, mostOcrPixels } from './limits';
import { closePdf, inPackage, openPdf } from './open-pdf';
import { pdfUnpacking } from './pdf-unpacking';

/** Pixels of the longer side, and pixels per point. */
interface Resolution {
  longestSide: number;
  largestScale: number;
}

const forModels: Resolution = { longestSide: 1600, largestScale: 3 };
/** 300 dpi, for letters of 6 points. */
const forOcr: Resolution = { longestSide: longestOcrSide, largestScale: 300 / 72 };
/** Pixel limit of an image; an A4 page scanned at 600 dpi has half of it. */
const mostPixelsOfPicture = 70_000_000;

interface Canvas {
  width: number;
  height: number;
  encode(format: 'png'): Promise<Buffer>;
  /** RGBA. */
  data(): Uint8Array;
}

interface CanvasFactory {
  create(width: number, height: number): { canvas: Canvas };
  destroy(target: { canvas: Canvas }): void;
}

export class PageRenderer {
  private constructor(private readonly pdf: PDFDocumentProxy) {}

  /** Throws UnreadableDocument when the PDF cannot be opened, or when this platform has no canvas package. */
  static async open(bytes: Buffer, mostPixels = mostPixelsOfPicture): Promise<PageRenderer> {
    requireCanvas();
    const pdf = await openPdf(bytes, {
      maxImageSize: mostPixels,
      useWasm: true,
      wasmUrl: inPackage('wasm'),
      iccUrl: inPackage('iccs'),
    });
    return new PageRenderer(pdf);
  }

  get pages(): number {
    return this.pdf.numPages;
  }

  static openForOcr(bytes: Buffer): Promise<PageRenderer> {
    return PageRenderer.open(bytes, mostOcrPixels);
  }

  /** PNG. */
  render(pageNumber: number): Promise<Uint8Array | undefined> {
    return this.draw(pageNumber, forModels, async (canvas) => new Uint8Array(await canvas.encode('png')));
  }

  renderGray(pageNumber: number): Promise<GrayPicture | undefined> {
    return this.draw(pageNumber, forOcr, (canvas) => grayOf(canvas.data(), canvas.width, canvas.height));
  }

  private async draw<Picture>(
    pageNumber: number,
    { longestSide, largestScale }: Resolution,
    read: (canvas: Canvas) => Picture | Promise<Picture>,
  ): Promise<Picture | undefined> {
    const factory = this.pdf.canvasFactory as CanvasFactory;
    let target: { canvas: Canvas } | undefined;
    pdfUnpacking.reset();
    try {
      const page = await this.pdf.getPage(pageNumber);
      const { width, height } = page.getViewport({ scale: 1 });
      const viewport = page.getViewport({ scale: Math.min(largestScale, longestSide / Math.max(width, height)) });
      target = factory.create(Math.max(1, Math.ceil(viewport.width)), Math.max(1, Math.ceil(viewport.height)));
      await page.render({ canvas: target.canvas, viewport }).promise;
      page.cleanup();
      return await read(target.canvas);
    } catch {
      return undefined;
    } finally {
      if (target) factory.destroy(target);
    }
  }

  async close(): Promise<void> {
    await closePdf(this.pdf);
  }
}

/** @napi-rs/canvas, which pdfjs-dist renders with, is a native package that some platforms lack. */
export function requireCanvas(): unknown {
  try {
    return createRequire(inPackage('legacy'))('@napi-rs/canvas');
  } catch {
    throw new UnreadableDocument(
      'Pages and pictures cannot be drawn, because the package @napi-rs/canvas does not load on the server. ' +
        'Index the file without vision and OCR, or ask your administrator to install the package.',
    );
  }
}
