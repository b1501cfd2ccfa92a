import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist/types/src/display/api';
import { type Block, DocumentWithoutText } from './block';
import { closePdf, openPdf, reasonOf } from './open-pdf';
import { withAnnotations } from './pdf-annotations';
import { blocksOf } from './pdf-layout';
import { linesOf, type Page } from './pdf-lines';
import { pdfUnpacking } from './pdf-unpacking';

/** The number of the type in `AnnotationType` of the package, which is not loaded here. */
const freeText = new Set([3]);
const boldName = /bold|black|heavy|demi|^(?:\w+\+)?(?:cm|sf|ec)bx/i;

/**
 * The text of a PDF in reading order, each block with its page. Headings, lists, tables and columns are told by where
 * and how large the text stands; running headers and page numbers appear once, or not at all. What is filled into its
 * forms or written on top of its pages stands where it is shown.
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
    await closePdf(pdf);
  }
}

/**
 * Whether it is worth looking at what lies on top of a page, by its index. Links lie on many, so who does not want them
 * asks at once for what was written on any. Where something is damaged, all are worth a look.
 */
async function findAnnotated(pdf: PDFDocumentProxy): Promise<(index: number) => boolean> {
  try {
    if ((await pdf.getFieldObjects()) !== null) return () => true;
    const written = (await pdf.getAnnotationsByType(freeText, new Set())) as { pageIndex: number }[] | null;
    const pages = new Set(written?.map(({ pageIndex }) => pageIndex));
    return (index) => pages.has(index);
  } catch {
    return () => true;
  }
}

async function readPages(pdf: PDFDocumentProxy): Promise<Page[]> {
  const fonts = new Fonts();
  const pages: Page[] = [];
  const isAnnotated = await findAnnotated(pdf);
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const text = await page.getTextContent();
    const content = isAnnotated(number - 1) ? await withAnnotations(text, page) : text;
    await fonts.learn(page, Object.keys(content.styles));
    const { transform, height } = page.getViewport({ scale: 1 });
    pages.push({ number, height, regions: linesOf(content, transform, fonts.bold) });
    page.cleanup();
    pdfUnpacking.check();
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
