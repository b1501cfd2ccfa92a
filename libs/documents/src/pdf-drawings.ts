import type { PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api';
import { DocumentWithoutText } from './block';
import { withMapAccess } from './pdf-map-access';

const mostPages = 10;
/** `OPS` of pdfjs-dist, which is not loaded here: shadings and paths. */
const drawing = new Set([62, 91]);

const remedy = 'index the file with vision or with `parsing.ocr: true`, which reads the pages by OCR here';

type Shown = 'images' | 'drawings' | 'nothing';

/** Error of a PDF without text, by what its first pages show. */
export async function withoutText(pdf: PDFDocumentProxy): Promise<DocumentWithoutText> {
  const shown = await shownBy(pdf);
  if (shown === 'images')
    return new DocumentWithoutText(
      'The PDF has no text, only images of pages, such as a scanner makes. ' +
        `Add the text with a program for text recognition (OCR), or ${remedy}.`,
      true,
    );
  if (shown === 'drawings')
    return new DocumentWithoutText(
      'The PDF has no text, only drawings: its letters, if any, are drawn as shapes. Export it again with text as ' +
        `text, add the text with a program for text recognition (OCR), or ${remedy}.`,
      true,
    );
  return new DocumentWithoutText('The PDF has no text: its pages are empty. Upload a PDF that contains text.');
}

/** Images are not decoded, so they are known by their heights. */
async function shownBy(pdf: PDFDocumentProxy): Promise<Shown> {
  let shown: Shown = 'nothing';
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
    if (hasImage) return 'images';
    if (fnArray.some((operator) => drawing.has(operator))) shown = 'drawings';
  }
  return shown;
}
