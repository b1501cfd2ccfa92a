/** Unpacked, of all entries of an archive together. */
export const mostArchiveBytes = 512_000_000;
export const mostArchiveEntryBytes = 200_000_000;
export const mostArchiveEntries = 10_000;
export const mostPdfPages = 5_000;
/** Limit of the text of any document, however it was packed. */
export const mostTextCharacters = 200_000_000;
/** Text of a small document that is let through however small it was packed. */
const leastTextCharacters = 5_000_000;
const mostCharactersOfByte = 50;

/** Limit of the text of a document: 50 characters for each of its bytes, at least 5 and at most 200 million. */
export function textLimitCharacters(sizeBytes: number): number {
  return Math.min(mostTextCharacters, Math.max(leastTextCharacters, mostCharactersOfByte * sizeBytes));
}

/** Time that a reader may work on one document: a minute, and a second for each megabyte, up to 110 s. */
export function readingTimeoutMs(sizeBytes: number): number {
  return Math.min(110_000, 60_000 + Math.ceil(sizeBytes / 1000));
}
/** Elements of XML, or groups of RTF, inside one another. */
export const deepestNesting = 256;
/** Filled ones, of all sheets of a spreadsheet together. */
export const mostCells = 10_000_000;
/** Of a PDF whose every page is to be seen by a model; more only by their numbers. */
export const mostSeenPages = 500;
/** More time for each page that is drawn. */
export const drawingTimeoutMs = 2_000;
