import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist/types/src/display/api';
import { type Block, DocumentWithoutText } from './block';
import { openPdf, reasonOf } from './open-pdf';
import { withFormFields } from './pdf-form-fields';
import { blocksOf } from './pdf-layout';
import { linesOf, type Page } from './pdf-lines';

const boldName = /bold|black|heavy|demi|^(?:\w+\+)?(?:cm|sf|ec)bx/i;

/**
 * The text of a PDF in reading order, each block with its page. Headings, lists, tables and columns are told by where
 * and how large the text stands; running headers and page numbers appear once, or not at all. What is filled into its
 * forms stands where its fields are.
 * Throws UnreadableDocument when it needs a password, has no text, is damaged or too long.
 */
export async function parsePdf(bytes: Buffer): Promise<Block[]> {
  return blocksOf(await readPdf(bytes));
}

async function readPdf(bytes: Buffer): Promise<Page[]> {
  // Pictures are never looked at.
  const pdf = await openPdf(bytes, { maxImageSize: 1 });
  try {
    return await readPages(pdf);
  } catch (error) {
    throw reasonOf(error);
  } finally {
    await pdf.loadingTask.destroy();
  }
}

/** Whether it is worth looking at what lies on top of each page; also where its list of fields is damaged. */
function hasFields(pdf: PDFDocumentProxy): Promise<boolean> {
  return pdf.getFieldObjects().then(
    (fields) => fields !== null,
    () => true,
  );
}

async function readPages(pdf: PDFDocumentProxy): Promise<Page[]> {
  const fonts = new Fonts();
  const pages: Page[] = [];
  const hasForm = await hasFields(pdf);
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const text = await page.getTextContent();
    const content = hasForm ? await withFormFields(text, page) : text;
    await fonts.learn(page, Object.keys(content.styles));
    const { transform, height } = page.getViewport({ scale: 1 });
    pages.push({ number, height, regions: linesOf(content, transform, fonts.bold) });
    page.cleanup();
  }
  if (pages.every(({ regions }) => regions.length === 0)) {
    throw new DocumentWithoutText(
      'The PDF has no text, only pictures of pages, as a scanner makes them. ' +
        'Let a program for text recognition (OCR) add the text, or index the file with vision.',
    );
  }
  return pages;
}

/** Which fonts are bold. Only a page that is drawn tells, so the first page of each font is. */
class Fonts {
  readonly bold = new Set<string>();
  private readonly known = new Set<string>();

  async learn(page: PDFPageProxy, names: string[]): Promise<void> {
    const unknown = names.filter((name) => !this.known.has(name));
    if (unknown.length === 0) return;
    await page.getOperatorList();
    for (const name of unknown) {
      this.known.add(name);
      if (page.commonObjs.has(name) && isBold(page.commonObjs.get(name) as Font)) this.bold.add(name);
    }
  }
}

interface Font {
  name?: string;
  bold?: boolean;
  black?: boolean;
}

function isBold(font: Font | null): boolean {
  return Boolean(font?.bold || font?.black || boldName.test(font?.name ?? ''));
}
