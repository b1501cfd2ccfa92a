import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Block, type Blocks, DocumentWithoutText, type Source } from './block';
import type { Format } from './formats';
import { graymapOf, isBlank } from './gray-picture';
import { mostOcrPages } from './limits';
import { PageRenderer } from './page-renderer';
import { parsePdfPages, type PdfContent } from './parse-pdf';
import { picturePages, tooManyPages } from './picture-pages';
import { type OcrLanguage, TextRecogniser } from './text-recogniser';

export interface OcrPage {
  /** From 1. */
  page: number;
  of: number;
}

export interface OcrOptions {
  languages: OcrLanguage[];
  /** Called before each page is read. */
  onPage?: (page: OcrPage) => void;
}

/** The parser of a format that reads by OCR what has no text: undefined for formats without pictures of pages. */
export function ocrParser({ name }: Pick<Format, 'name'>, options: OcrOptions): Format['parse'] | undefined {
  if (name === 'PDF') return (source) => pdfBlocks(source, options);
  return name === 'picture' ? (source) => pictureBlocks(source, options) : undefined;
}

async function pdfBlocks(source: Source, options: OcrOptions): Promise<Blocks> {
  const content = await parsePdfPages(source.bytes);
  const { length } = content.pagesWithoutText;
  if (length > mostOcrPages) throw tooManyPages('The PDF');
  return length === 0 ? content.blocks : allBlocks(content, source, options);
}

/** Those of pages without text are at their place. */
async function* allBlocks(
  { blocks, pagesWithoutText }: PdfContent,
  source: Source,
  options: OcrOptions,
): AsyncGenerator<Block> {
  const wanted = new Set(pagesWithoutText);
  const kept = blocks.filter(({ pageNumber = 0 }) => !wanted.has(pageNumber));
  let found = 0;
  for await (const block of recognisedPages(source, pagesWithoutText, options)) {
    while (kept.length > 0 && (kept[0]!.pageNumber ?? 0) < block.pageNumber!) yield kept.shift()!;
    yield block;
    found++;
  }
  yield* kept;
  if (found === 0 && blocks.length === 0) throw nothingFound('The PDF has no text, and OCR finds none on its pages.');
}

async function* recognisedPages(source: Source, pages: number[], options: OcrOptions): AsyncGenerator<Block> {
  const recogniser = await TextRecogniser.open(options.languages);
  const renderer = await PageRenderer.openForOcr(source.bytes);
  try {
    for (const [i, pageNumber] of pages.entries()) {
      await announce({ page: i + 1, of: pages.length }, options);
      const gray = await renderer.renderGray(pageNumber);
      if (gray && !isBlank(gray)) yield* toBlocks(recogniser.recognise(graymapOf(gray)), pageNumber);
      source.onProgress?.((i + 1) / pages.length);
    }
  } finally {
    await renderer.close();
  }
}

async function* pictureBlocks(source: Source, options: OcrOptions): AsyncGenerator<Block> {
  let recogniser: TextRecogniser | undefined;
  let found = 0;
  for await (const { picture, ...page } of picturePages(source.bytes)) {
    await announce(page, options);
    recogniser ??= await TextRecogniser.open(options.languages);
    for (const block of toBlocks(picture && recogniser.recognise(picture), page.page)) {
      yield page.of === 1 ? { ...block, pageNumber: undefined } : block;
      found++;
    }
    source.onProgress?.(page.page / page.of);
  }
  if (found === 0) throw nothingFound('OCR finds no text on the picture.');
}

/** Recognition blocks this thread for seconds: the message about the page goes out first. */
async function announce(page: OcrPage, { onPage }: OcrOptions): Promise<void> {
  onPage?.(page);
  await nextTurn();
}

function* toBlocks(paragraphs: string[] | undefined, pageNumber: number): Generator<Block> {
  for (const text of paragraphs ?? []) yield { type: 'paragraph', text, pageNumber, isRecognised: true };
}

function nothingFound(reason: string): DocumentWithoutText {
  return new DocumentWithoutText(
    `${reason} Upload a sharper picture, of 300 dots per inch, or a file that contains text.`,
  );
}
