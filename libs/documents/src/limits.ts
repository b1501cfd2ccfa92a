/** Decompressed size of all entries of an archive. */
export const mostArchiveBytes = 512_000_000;
export const mostArchiveEntryBytes = 200_000_000;
export const mostArchiveEntries = 10_000;
export const mostPdfPages = 5_000;
export const mostTextCharacters = 200_000_000;
const leastTextCharacters = 5_000_000;
const mostCharactersOfByte = 50;

/** Decompression bomb limit: 50 characters of text per byte of the document, at least 5 and at most 200 million. */
export function textLimitCharacters(sizeBytes: number): number {
  return Math.min(mostTextCharacters, Math.max(leastTextCharacters, mostCharactersOfByte * sizeBytes));
}

/** Processor time of a parser: 60 s plus 1 s per MB, at most 110 s. */
export function readingProcessorMs(sizeBytes: number): number {
  return Math.min(110_000, 60_000 + Math.ceil(sizeBytes / 1000));
}
/** Nesting depth of XML elements and RTF groups. */
export const deepestNesting = 256;
/**
 * Character limit for Markdown; longer documents are read as plain text. Micromark takes 1 to 2 seconds for a million
 * characters of prose, and more than a minute for a million adversarial ones.
 */
export const longestMarkdown = 4_000_000;
/** Attached messages within attached messages that are read. Deeper ones are attachments without text. */
export const deepestMessage = 8;
/** Documents within documents (altChunk) that are read. */
export const deepestChunk = 3;
/** Nesting depth of values in JSON and of elements in XML files. */
export const deepestValue = 1_000;
/** Limit of empty cells that spans of HTML and Word add to a document: a short table could ask for any number. */
export const mostSpannedCells = 1_000_000;
/** Beginning and end of an output of a notebook that are kept, in characters. */
export const outputStart = 1_500;
export const outputEnd = 500;
/** Limit of the XML of an XFA form, which is read into memory; larger ones are not read. */
export const mostFormBytes = 20_000_000;
/** Non-empty cells of all sheets of a spreadsheet. */
export const mostCells = 10_000_000;
/** Pages that a vision model reads when it reads every page. PDFs with more pages need a list of page numbers. */
export const mostSeenPages = 500;
/** Additional processor time per rendered page. */
export const drawingProcessorMs = 2_000;
/** Pages of a file that are read by OCR. */
export const mostOcrPages = 200;
/** Additional processor time per page that is read by OCR, which takes two seconds of a usual processor. */
export const ocrProcessorMs = 10_000;
/** Pixels of a picture whose text is read by OCR; an A4 page scanned at 600 dpi has 35 million. */
export const mostOcrPixels = 40_000_000;
/** Longest side in pixels at which a page is read by OCR: A4 at 300 dpi. */
export const longestOcrSide = 3_508;
