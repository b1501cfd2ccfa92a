import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist/types/src/display/api';
import { type Block, type OnReading } from './block';
import { closePdf, openPdf, reasonOf } from './open-pdf';
import { PageTexts } from './pdf-actual-text';
import { withAnnotations, writtenTypes } from './pdf-annotations';
import { withoutText } from './pdf-drawings';
import { blocksOf } from './pdf-layout';
import { linesOf, type Page } from './pdf-lines';
import { pagesOfRunningLines } from './pdf-running-lines';
import { pdfUnpacking } from './pdf-unpacking';
import { isPlaceholder, xfaBlocks, xfaPackets } from './pdf-xfa';

const boldName = /bold|black|heavy|demi|^(?:\w+\+)?(?:cm|sf|ec)bx/i;

/**
 * PDF: text blocks in reading order, each with its page number. Layout analysis by position and font size finds
 * headings, lists, tables and columns. Running headers are kept once and page numbers removed. Form values and
 * free-text annotations are read at their position, comments at the end of their page, XFA forms where the pages do not
 * show them. Throws UnreadableDocument when the PDF needs a password, has no
 * text, is damaged or too long.
 */
export function parsePdf(bytes: Buffer, onReading?: OnReading): Promise<Block[]> {
  return readPdf(bytes, async (pdf) => {
    const { blocks } = await readBlocks(pdf, onReading);
    if (blocks.length === 0) throw await withoutText(pdf);
    return blocks;
  });
}

export interface PdfContent {
  blocks: Block[];
  /** Numbers of pages whose text, if any, is a running header or footer. */
  pagesWithoutText: number[];
}

/** The same for PDFs of which some pages, or all, may have no text. */
export function parsePdfPages(bytes: Buffer): Promise<PdfContent> {
  return readPdf(bytes, (pdf) => readBlocks(pdf));
}

async function readPdf<Content>(bytes: Buffer, read: (pdf: PDFDocumentProxy) => Promise<Content>): Promise<Content> {
  // Images are not decoded.
  // The extra properties hold the names of fonts, which say what is bold.
  const pdf = await openPdf(bytes, { maxImageSize: 1, fontExtraProperties: true });
  try {
    return await read(pdf);
  } catch (error) {
    throw reasonOf(error);
  } finally {
    await closePdf(pdf);
  }
}

async function readBlocks(pdf: PDFDocumentProxy, onReading?: OnReading): Promise<PdfContent> {
  const packets = await xfaPackets(pdf);
  pdfUnpacking.check();
  const pages = await readPages(pdf, onReading);
  const blocks = blocksOf(pages);
  const pagesWithoutText = pagesOfRunningLines(pages);
  if (packets.size === 0) return { blocks, pagesWithoutText };
  const shown = blocks.map(({ text }) => text).join('\n');
  const form = isPlaceholder(pages.length, shown) ? xfaBlocks(packets, '') : [];
  if (form.length > 0) return { blocks: form, pagesWithoutText: [] };
  return { blocks: [...blocks, ...xfaBlocks(packets, shown)], pagesWithoutText };
}

/**
 * Predicate by page index: whether the page has annotations to read. One query finds the pages with texts of readers,
 * because nearly every page has annotations that are links. True for all pages when there are form fields or the PDF is
 * damaged.
 */
async function findAnnotated(pdf: PDFDocumentProxy): Promise<(index: number) => boolean> {
  try {
    if ((await pdf.getFieldObjects()) !== null) return () => true;
    const written = (await pdf.getAnnotationsByType(new Set(writtenTypes), new Set())) as
      | { pageIndex: number }[]
      | null;
    const pages = new Set(written?.map(({ pageIndex }) => pageIndex));
    return (index) => pages.has(index);
  } catch {
    return () => true;
  }
}

async function readPages(pdf: PDFDocumentProxy, onReading?: OnReading): Promise<Page[]> {
  const fonts = new Fonts();
  const texts = new PageTexts();
  const pages: Page[] = [];
  const isAnnotated = await findAnnotated(pdf);
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const text = await texts.of(page);
    const annotated = isAnnotated(number - 1) ? await withAnnotations(text, page) : undefined;
    const { content = text, comments = [] } = annotated ?? {};
    await fonts.learn(page, Object.keys(content.styles));
    const { transform, height } = page.getViewport({ scale: 1 });
    pages.push({ number, height, regions: linesOf(content, transform, fonts.bold), comments });
    page.cleanup();
    pdfUnpacking.check();
    onReading?.(number / pdf.numPages);
  }
  return pages;
}

/** Bold fonts. pdfjs-dist resolves a font only when a page is drawn, so the first page with each font is drawn. */
class Fonts {
  readonly bold = new Set<string>();
  private readonly known = new Set<string>();

  async learn(page: PDFPageProxy, names: string[]): Promise<void> {
    const unknown = names.filter((name) => !this.known.has(name));
    if (unknown.length === 0) return;
    await page.getOperatorList();
    // The fonts of the list have arrived; promises without I/O resolve them.
    await nextTurn();
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
