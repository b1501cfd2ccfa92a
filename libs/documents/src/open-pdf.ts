import { dirname, join, sep } from 'node:path';
import type { DocumentInitParameters, PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api';
import { UnreadableDocument } from './block';
import { mostPdfPages } from './limits';
import { pdfUnpacking } from './pdf-unpacking';

/**
 * Opens a PDF in this thread, from its bytes and the files of pdfjs-dist only. Close it with `closePdf`. Throws
 * UnreadableDocument when it needs a password, is damaged or has more than 5,000 pages.
 */
export async function openPdf(bytes: Buffer, options: DocumentInitParameters): Promise<PDFDocumentProxy> {
  const { getDocument, VerbosityLevel } = await loadPdfjs();
  pdfUnpacking.begin();
  const task = getDocument({
    data: new Uint8Array(bytes),
    cMapUrl: inPackage('cmaps'),
    standardFontDataUrl: inPackage('standard_fonts'),
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
      `The PDF has ${pdf.numPages} pages; at most ${mostPdfPages} can be indexed. Split it into smaller files.`,
    );
  } catch (error) {
    await task.destroy();
    pdfUnpacking.end();
    throw reasonOf(error);
  }
}

export async function closePdf(pdf: PDFDocumentProxy): Promise<void> {
  await pdf.loadingTask.destroy();
  pdfUnpacking.end();
}

export function inPackage(folder: string): string {
  return join(dirname(require.resolve('pdfjs-dist/package.json')), folder) + sep;
}

/**
 * Maps an exception of pdfjs-dist, whose names end in "Exception", to an UnreadableDocument that tells the owner what to do.
 * All others are ours.
 */
export function reasonOf(error: unknown): unknown {
  const tooLarge = pdfUnpacking.problem();
  if (tooLarge) return tooLarge;
  if (!(error instanceof Error) || !error.name.endsWith('Exception')) return error;
  if (error.name === 'PasswordException') {
    return new UnreadableDocument(
      'The PDF is encrypted and needs a password to open. Upload a copy that is saved without a password.',
    );
  }
  return new UnreadableDocument(
    'The PDF is damaged and cannot be read. Open it in a PDF program, save or print it as a new PDF, and upload the new file.',
  );
}

/** Lazy import: pdfjs-dist takes most of a second to load. */
async function loadPdfjs() {
  // @ts-expect-error The package has no types for it.
  await import('pdfjs-dist/legacy/build/pdf.worker.mjs');
  return import('pdfjs-dist/legacy/build/pdf.mjs');
}
