import * as limits from './limits';

/** Row of a format in docs/formats.md. */
export interface FormatText {
  read: string;
  notRead: string;
  limits?: string;
}

const number = (value: number) => value.toLocaleString('en-US');
const million = (value: number) => `${number(value / 1e6)} million`;
const nesting = `elements nested ${limits.deepestNesting} deep`;
const spans = `${million(limits.mostSpannedCells)} cells that spans add`;
const nothingElse = 'Nothing is left out.';
const officeExtras = 'pictures, embedded files, macros';

/** By the name of the format. A new format is not complete without its row. */
export const formatTexts: Readonly<Record<string, FormatText>> = {
  'plain text': {
    read: 'Paragraphs, separated by blank lines. All other `text/*` types are read like this.',
    notRead: 'Headings are not guessed.',
  },
  Markdown: {
    read: 'GitHub Flavored Markdown and front matter: headings, lists, tables, quotations, code, alternative texts of images, notes with their labels, the visible text of HTML.',
    notRead: 'Targets of links. HTML comments.',
    limits: `Over ${million(limits.longestMarkdown)} characters, it is read as plain text.`,
  },
  HTML: {
    read:
      'The visible text: headings, lists, tables with spanned cells, quotations, code, alternative texts, SVG, MathML, `srcdoc`, declarative shadow trees, frames and texts for browsers without scripts. ' +
      'The `<title>` where no h1 has its words, and the targets of links whose text is “here” or the like.',
    notRead:
      'Hidden elements (`hidden`, `aria-hidden`, styles in the element), scripts, what scripts would draw, values of form fields.',
    limits: spans,
  },
  XHTML: { read: 'As HTML, with self-closing tags.', notRead: 'As HTML.' },
  Word: {
    read:
      '.docx: headings and lists with their numbers as printed, tables, foot- and endnotes, headers and footers once, text boxes, comments with their author and the text they are about, ' +
      'charts, diagrams, formulas, alternative texts, content controls, imported documents (altChunk), inserted text of tracked changes. .doc (Word 97 to 2003): the same but charts, diagrams and formulas. ' +
      'Word 2003 XML, and RTF, HTML and web archives that have the name of a Word document.',
    notRead: `Hidden text, deleted text of tracked changes, ${officeExtras}. Word 95 and older, and files with a password, are refused.`,
    limits: `${nesting}, ${limits.deepestChunk} documents within documents, ${spans}.`,
  },
  PowerPoint: {
    read:
      '.pptx: slides in order, hidden ones too, each a page: titles, lists, tables, text boxes, grouped shapes, charts, diagrams, alternative texts, speaker notes, comments, a footer once. ' +
      '.ppt (PowerPoint 97 to 2003): titles, texts, tables and notes.',
    notRead: `Texts of masters and layouts, dates and slide numbers, ${officeExtras}. Files with a password are refused.`,
    limits: nesting,
  },
  Excel: {
    read:
      '.xlsx and .xlsb: all sheets, hidden ones too, as tables under their names: values in the number format of their cells, formulas by their value or, without one, as formula, ' +
      'merged cells, headers and footers of pages once (.xlsx), text boxes, charts, notes and comments with their cells. .xls (Excel 5 to 2003): the same but charts. XML Spreadsheet 2003, and HTML and tables with tabs that have the name of a workbook.',
    notRead: `Headers and footers of pages (.xlsb, .xls), formulas that have a value, pivot caches, ${officeExtras}. Excel 4 and older, and files with a password, are refused.`,
    limits: `${million(limits.mostCells)} non-empty cells, ${million(limits.mostTextCharacters)} characters.`,
  },
  OpenDocument: {
    read:
      'Texts: headings and lists with their numbers, tables, notes, headers and footers once, text boxes, comments, charts. Spreadsheets: all sheets with values as shown, but numbers without separators and zeros at their end; comments, charts. ' +
      'Presentations: each slide a page, with tables, texts and speaker notes.',
    notRead: `Headers and footers of printed sheets, texts of masters, deleted text of tracked changes, ${officeExtras}. Files with a password are refused.`,
    limits: nesting,
  },
  'Rich Text Format': {
    read: 'Headings by their style or outline level, lists with their numbers, tables, footnotes, headers and footers once, comments with their authors, text boxes, field results, all code pages and Unicode escapes.',
    notRead: 'Hidden and deleted text, pictures, embedded files.',
    limits: `Groups nested ${limits.deepestNesting} deep.`,
  },
  EPUB: {
    read: 'Chapters in the order of the spine, each as HTML.',
    notRead: 'The table of contents, pictures. Books with DRM are refused.',
  },
  PDF: {
    read:
      'Text in reading order with its page numbers: headings by size and weight, lists, tables, columns, rotated and vertical text, replacement texts (ActualText), values and labels of form fields (AcroForm, XFA), ' +
      'free text and comments with their authors, running headers and footers once. Pages without text by OCR, where it is on.',
    notRead:
      'Page numbers of running lines, alternative texts of figures, bookmarks, layers that are off, attached files, text that is drawn as curves or pictures (but see OCR). The Arabic letters lam and alef can change places where a font joins them. Files that need a password are refused.',
    limits: `${number(limits.mostPdfPages)} pages; ${million(limits.mostFormBytes)} bytes of an XFA form; OCR: ${limits.mostOcrPages} pages.`,
  },
  picture: {
    read: 'Text of printed pages by OCR, where it is on: paragraphs. TIFF: all pages.',
    notRead: 'Handwriting, headings and tables as such, metadata of the picture. Without OCR, pictures are refused.',
    limits: `${limits.mostOcrPages} pages, ${million(limits.mostOcrPixels)} pixels per page.`,
  },
  MDX: {
    read: 'As Markdown; the text between tags.',
    notRead: 'Imports, exports, tags and expressions in braces.',
    limits: 'As Markdown.',
  },
  CSV: {
    read: 'A table with its delimiter (comma, semicolon, tab, bar) detected or declared by `sep=`, quoted cells with line ends, rows of any length. The first row is the header unless it has a number.',
    notRead: nothingElse,
  },
  TSV: { read: 'A table: each line a row, the first the header unless it has a number.', notRead: nothingElse },
  notebook: {
    read: 'Jupyter notebooks: cells of Markdown, code, and text, HTML and errors of outputs.',
    notRead: 'Pictures and other data of outputs, lines of stack traces but the last.',
    limits: `The first ${number(limits.outputStart)} and the last ${number(limits.outputEnd)} characters of an output.`,
  },
  JSON: {
    read: 'A passage for each record, with the names of its fields and all values; long numbers with all digits.',

    notRead: 'Comments. A file that is not valid JSON is refused with the place of the error.',
    limits: `values nested ${number(limits.deepestValue)} deep.`,
  },
  'JSON Lines': { read: 'A record per line; a line that is not JSON as it stands.', notRead: nothingElse },
  XML: {
    read: 'A passage for each record, with the names of its elements, texts and attributes. Elements within a sentence are part of it.',
    notRead:
      'Comments, processing instructions, names of namespaces. Files that refer to entities of their own are refused.',
    limits: `elements nested ${number(limits.deepestValue)} deep.`,
  },
  mail: {
    read:
      'Subject, sender, recipients, date, the body (HTML or text, whichever says more), attached messages, texts, pages and invitations, the names of all attachments. ' +
      'All transfer encodings and charsets, encoded words.',
    notRead: 'Other headers, content of attached documents: upload these as files of their own. Encrypted messages.',
    limits: `${limits.deepestMessage} messages within messages.`,
  },
  'Outlook message': {
    read: 'As mail: the body in HTML, RTF or text, attached messages and texts.',
    notRead: 'As mail. Notes, contacts and tasks have their subject and body only.',
    limits: 'As mail.',
  },
  calendar: {
    read: 'Events, tasks and journal entries: summary, times, repetition, place, people, status, link, description.',
    notRead: 'Alarms, free and busy times, definitions of time zones, attachments.',
  },
  'source code': {
    read: 'The text, cut at blank lines before code that is not indented.',
    notRead: 'Nothing is left out, and nothing is understood: comments and code are one text.',
  },
};
