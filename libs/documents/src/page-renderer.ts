import { createRequire } from 'node:module';
import type { PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api';
import { UnreadableDocument } from './block';
import { closePdf, inPackage, openPdf } from './open-pdf';
import { pdfUnpacking } from './pdf-unpacking';

const longestSide = 1600;
const largestScale = 3;
/** Pixel limit of an image; an A4 page scanned at 600 dpi has half of it. */
const mostPixelsOfPicture = 70_000_000;

interface Canvas {
  encode(format: 'png'): Promise<Buffer>;
}

interface CanvasFactory {
  create(width: number, height: number): { canvas: Canvas };
  destroy(target: { canvas: Canvas }): void;
}

export class PageRenderer {
  private constructor(private readonly pdf: PDFDocumentProxy) {}

  /** Throws UnreadableDocument when the PDF cannot be opened, or when this platform has no canvas package. */
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

  async render(pageNumber: number): Promise<Uint8Array | undefined> {
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

/** @napi-rs/canvas, which pdfjs-dist renders with, is a native package that some platforms lack. */
function requireCanvas(): void {
  try {
    createRequire(inPackage('legacy'))('@napi-rs/canvas');
  } catch {
    throw new UnreadableDocument(
      'The pages of a PDF cannot be rendered, because the package @napi-rs/canvas does not load on the server. ' +
        'Index the file without vision, or ask your administrator to install the package.',
    );
  }
}
