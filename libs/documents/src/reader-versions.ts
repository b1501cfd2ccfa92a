/** Format of a content that no format fits. */
export const noFormat = 'unknown';

/**
 * Version of the reader of each format, kept with each content that it has read or refused. Raise it with each change of what
 * the reader gives or refuses: then `parley reindex --older-readers` reads the contents of older versions anew. Raise that of
 * `unknown` with each new format. A version of 1 is newer than that of contents from before versions were kept.
 */
export const readerVersions: Readonly<Record<string, number>> = {
  [noFormat]: 1,
  'plain text': 1,
  Markdown: 1,
  HTML: 1,
  XHTML: 1,
  Word: 1,
  PowerPoint: 1,
  Excel: 1,
  OpenDocument: 1,
  'Rich Text Format': 1,
  EPUB: 1,
  PDF: 1,
  MDX: 1,
  CSV: 1,
  TSV: 1,
  notebook: 1,
  JSON: 1,
  'JSON Lines': 1,
  XML: 1,
  mail: 1,
  'Outlook message': 1,
  picture: 1,
  calendar: 1,
  'source code': 1,
};
