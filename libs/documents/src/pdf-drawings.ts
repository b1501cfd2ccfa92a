import type { PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api';
import { withMapAccess } from './pdf-map-access';

const mostPages = 10;
/** `OPS` of pdfjs-dist, which is not loaded here: shadings and paths. */
const drawing = new Set([62, 91]);

const advice = 'or index the file with vision.';
const reasons = {
  images:
    'The PDF has no text, only images of pages, such as a scanner makes. ' +
    `Add the text with a program for text recognition (OCR), ${advice}`,
  drawings:
    'The PDF has no text, only drawings: its letters, if any, are drawn as shapes. ' +
    `Export it again with text as text, add the text with a program for text recognition (OCR), ${advice}`,
  nothing: 'The PDF has no text: its pages are empty. Upload a PDF that contains text.',
};

/** Reason why a PDF has no text, by what its first pages show. Images are not decoded, so their heights tell of them. */
export async function textlessReason(pdf: PDFDocumentProxy): Promise<string> {
  let shown: keyof typeof reasons = 'nothing';
  for (let number = 1; number <= Math.min(pdf.numPages, mostPages); number++) {
    let hasImage = false;
    const page = await pdf.getPage(number);
    const { fnArray } = await withMapAccess(
      {
        get(key, value) {
          if ((key === 'H' || key === 'Height') && typeof value === 'number') hasImage = true;
          return value;
        },
      },
      () => page.getOperatorList(),
    );
    if (hasImage) return reasons.images;
    if (fnArray.some((operator) => drawing.has(operator))) shown = 'drawings';
  }
  return reasons[shown];
}
