import { createRequire } from 'node:module';
import type { PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api';
import { UnreadableDocument } from './block';
import { closePdf, inPackage, openPdf } from './open-pdf';
import { pdfUnpacking } from './pdf-unpacking';

/** Of the longer side of a page: models see no more. */
const longestSide = 1600;
const largestScale = 3;
/** A page of A4 that was scanned with 600 dots an inch has half of it. */
const mostPixelsOfPicture = 70_000_000;

interface Canvas {
  encode(format: 'png'): Promise<Buffer>;
}

interface CanvasFactory {
  create(width: number, height: number): { canvas: Canvas };
  destroy(target: { canvas: Canvas }): void;
}

/** Draws the pages of a PDF. */
export class PageRenderer {
  private constructor(private readonly pdf: PDFDocumentProxy) {}

  /** Throws UnreadableDocument when it cannot be opened, or nothing can be drawn in this process. */
  static async open(bytes: Buffer): Promise<PageRenderer> {
    requireCanvas();
    const pdf = await openPdf(bytes, {
      maxImageSize: mostPixelsOfPicture,
      useWasm: true,
      wasmUrl: inPackage('wasm'),
      iccUrl: inPackage('iccs'),
    });
    return new PageRenderer(pdf);
  }

  get pages(): number {
    return this.pdf.numPages;
  }

  /** A PNG; undefined for a page that cannot be drawn. */
  async render(pageNumber: number): Promise<Uint8Array | undefined> {
    const factory = this.pdf.canvasFactory as CanvasFactory;
    let target: { canvas: Canvas } | undefined;
    pdfUnpacking.reset();
    try {
      const page = await this.pdf.getPage(pageNumber);
      const { width, height } = page.getViewport({ scale: 1 });
      const viewport = page.getViewport({ scale: Math.min(largestScale, longestSide / Math.max(width, height)) });
      target = factory.create(Math.max(1, Math.ceil(viewport.width)), Math.max(1, Math.ceil(viewport.height)));
      await page.render({ canvas: target.canvas as never, viewport }).promise;
      page.cleanup();
      return new Uint8Array(await target.canvas.encode('png'));
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

/** What pdfjs-dist draws with is made for one system and processor, and is not there on some. */
function requireCanvas(): void {
  try {
    createRequire(inPackage('legacy'))('@napi-rs/canvas');
  } catch {
    throw new UnreadableDocument(
      'The pages of a PDF cannot be drawn here, because the package @napi-rs/canvas does not load on the server. ' +
        'Index the file without vision, or ask your administrator to install the package.',
    );
  }
}
