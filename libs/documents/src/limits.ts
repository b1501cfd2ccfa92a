/** Unpacked, of all entries of an archive together. */
export const mostArchiveBytes = 512_000_000;
export const mostArchiveEntryBytes = 200_000_000;
export const mostArchiveEntries = 10_000;
export const mostPdfPages = 5_000;
/** Of the text in one document, however it was packed. */
export const mostTextCharacters = 200_000_000;
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
