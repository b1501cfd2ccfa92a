import { dirname, join, sep } from 'node:path';
import type { DocumentInitParameters, PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api';
import { UnreadableDocument } from './block';
import { mostPdfPages } from './limits';
import { pdfUnpacking } from './pdf-unpacking';

/**
 * Everything is read in this thread, from these bytes and the files of the package alone. Close it with
 * `closePdf`. Throws UnreadableDocument when it needs a password, is damaged or too long.
 */
export async function openPdf(bytes: Buffer, options: DocumentInitParameters): Promise<PDFDocumentProxy> {
  const { getDocument, VerbosityLevel } = await loadPdfjs();
  pdfUnpacking.begin();
  const task = getDocument({
    data: new Uint8Array(bytes),
    cMapUrl: inPackage('cmaps'),
    standardFontDataUrl: inPackage('standard_fonts'),
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    useWasm: false,
    enableXfa: false,
    verbosity: VerbosityLevel.ERRORS,
    ...options,
  });
  try {
    const pdf = await task.promise;
    pdfUnpacking.check();
    if (pdf.numPages <= mostPdfPages) return pdf;
    throw new UnreadableDocument(
      `The PDF has ${pdf.numPages} pages, and no more than ${mostPdfPages} can be indexed: split it.`,
    );
  } catch (error) {
    await task.destroy();
    pdfUnpacking.end();
    throw reasonOf(error);
  }
}

/** Frees what an open PDF holds. */
export async function closePdf(pdf: PDFDocumentProxy): Promise<void> {
  await pdf.loadingTask.destroy();
  pdfUnpacking.end();
}

/** A folder of pdfjs-dist. */
export function inPackage(folder: string): string {
  return join(dirname(require.resolve('pdfjs-dist/package.json')), folder) + sep;
}

/** What of an error of pdfjs-dist the document's owner can do something about. */
export function reasonOf(error: unknown): unknown {
  const tooLarge = pdfUnpacking.problem();
  if (tooLarge) return tooLarge;
  if (error instanceof UnreadableDocument || !(error instanceof Error)) return error;
  if (error.name === 'PasswordException') {
    return new UnreadableDocument(
      'The PDF is encrypted and opens only with a password. Upload a copy that is saved without one.',
    );
  }
  return new UnreadableDocument(
    'The PDF is damaged and cannot be read. Open it in a PDF program, save or print it as a new PDF, and upload that.',
  );
}

/** Only who has a PDF waits for it: it takes most of a second to load. */
async function loadPdfjs() {
  // For Node 20 the package replaces it, because of a corner case, with one that costs a fifth of the time for a PDF.
  const push = Object.getOwnPropertyDescriptor(Array.prototype, 'push')!;
  // @ts-expect-error The package has no types for it.
  await import('pdfjs-dist/legacy/build/pdf.worker.mjs');
  const pdfjs = await import('pdfjs-dist/legacy/build/pdf.mjs');
  Object.defineProperty(Array.prototype, 'push', push);
  return pdfjs;
}
