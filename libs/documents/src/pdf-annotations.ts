import type { PDFPageProxy, TextContent, TextItem } from 'pdfjs-dist/types/src/display/api';

interface Annotation {
  subtype: string;
  /** Author of a comment. */
  titleObj?: { str: string };
  /** Lines drawn by the appearance stream. */
  textContent?: string[];
  /** `/Contents`, used when nothing is drawn. */
  contentsObj?: { str: string };
  fieldType?: string;
  fieldValue?: string | string[] | null;
  rect: [number, number, number, number];
  hidden?: boolean;
  password?: boolean;
  annotationFlags?: number;
  defaultAppearanceData?: { fontSize?: number };
  options?: { exportValue: string; displayValue: string }[];
  checkBox?: boolean;
  radioButton?: boolean;
  exportValue?: string;
  buttonValue?: string;
}

/** Comments that readers write on a page: `AnnotationType` of pdfjs-dist, which is not loaded here, by subtype. */
const comments: Record<string, number> = {
  Text: 1,
  Line: 4,
  Square: 5,
  Circle: 6,
  Polygon: 7,
  PolyLine: 8,
  Highlight: 9,
  Underline: 10,
  Squiggly: 11,
  StrikeOut: 12,
  Stamp: 13,
  Caret: 14,
  Ink: 15,
  FileAttachment: 17,
};
const freeText = 3;
/** Types of annotations that have text, besides the fields of forms. */
export const writtenTypes: ReadonlySet<number> = new Set([freeText, ...Object.values(comments)]);

interface Comment {
  text: string;
  author?: string;
}

const mostComparisons = 10_000_000;
const isNotShown = 2 | 32;
const usualSize = 10;
const ticked = '☒';
/** Multiples of the font size. */
const lineHeight = 1.2;
const widthOfCharacter = 0.5;
const middleAboveBaseline = 0.35;
/** Vertical distances in points at which a field's label is searched, nearest first. */
const nearRows = [0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5];

export interface AnnotatedPage {
  content: TextContent;
  /** Comments with their authors, which are not at a place in the text. */
  comments: string[];
}

/** Page text with form values and free-text annotations, each inserted after its label in drawing order. */
export async function withAnnotations(content: TextContent, page: PDFPageProxy): Promise<AnnotatedPage> {
  // Damaged annotations do not prevent reading the page text.
  const annotations = ((await page.getAnnotations().catch(() => [])) as Annotation[]).filter(isVisible);
  const texts = annotations.flatMap(commentsOf).filter(isOwn(content, annotations.length));
  const written = texts.map(({ text, author }) => (author ? `${author}: ${text}` : text));
  return { content: withFields(content, annotations), comments: written };
}

function withFields(content: TextContent, annotations: Annotation[]): TextContent {
  const fields = annotations.filter(isDrawn).flatMap((shown) => drawn(textOf(shown), shown));
  if (fields.length === 0) return content;

  const onRow = new Map<number, { item: TextItem; index: number }>();
  content.items.forEach((item, index) => {
    if ('str' in item && item.str.trim() !== '') onRow.set(Math.round(yOf(item)), { item, index });
  });
  const after = new Map<number, TextItem[]>();
  for (const field of fields) {
    const label = nearRows.map((distance) => onRow.get(Math.round(yOf(field)) + distance)).find(Boolean);
    if (label) field.transform[5] = yOf(label.item);
    const index = label?.index ?? content.items.length - 1;
    const others = after.get(index);
    if (others) others.push(field);
    else after.set(index, [field]);
  }
  const items = content.items.flatMap((item, index) => [item, ...(after.get(index) ?? [])]);
  return { ...content, items: content.items.length > 0 ? items : fields };
}

function yOf({ transform }: TextItem): number {
  return (transform as number[])[5]!;
}

function isVisible({ hidden, password, annotationFlags = 0 }: Annotation): boolean {
  return !hidden && !password && (annotationFlags & isNotShown) === 0;
}

function isDrawn({ subtype }: Annotation): boolean {
  return subtype === 'Widget' || subtype === 'FreeText';
}

function commentsOf({ subtype, contentsObj, titleObj }: Annotation): Comment[] {
  const text = contentsObj?.str.replace(/\r\n?/g, '\n').trim() ?? '';
  return text !== '' && subtype in comments ? [{ text, author: titleObj?.str.trim() }] : [];
}

/** Comments that do not repeat the text that they mark. */
function isOwn({ items }: TextContent, count: number): (comment: Comment) => boolean {
  if (items.length * count > mostComparisons) return () => true;
  return ({ text }) => !items.some((item) => 'str' in item && item.str.includes(text));
}

function textOf(annotation: Annotation): string {
  if (annotation.subtype === 'FreeText') return annotation.textContent?.join('\n') ?? annotation.contentsObj?.str ?? '';
  const { fieldType, fieldValue, options = [], ...button } = annotation;
  const values = [fieldValue ?? []].flat().filter((value) => typeof value === 'string');
  if (fieldType === 'Tx') return values.join('\n');
  if (fieldType === 'Ch') {
    const shown = new Map(options.map(({ exportValue, displayValue }) => [exportValue, displayValue]));
    return values.map((value) => shown.get(value) ?? value).join('\n');
  }
  const on = button.checkBox ? button.exportValue : button.radioButton ? button.buttonValue : undefined;
  return on !== undefined && on !== 'Off' && values.includes(on) ? ticked : '';
}

function drawn(text: string, { rect, defaultAppearanceData }: Annotation): TextItem[] {
  if (text.trim() === '') return [];
  const [left, bottom, right, top] = rect;
  const lines = text.split(/\r\n?|\n/);
  const size = defaultAppearanceData?.fontSize || Math.min(usualSize, top - bottom) || usualSize;
  const first = lines.length === 1 ? (bottom + top) / 2 - middleAboveBaseline * size : top - size;
  return lines.map((str, i) => ({
    str,
    dir: 'ltr',
    transform: [size, 0, 0, size, left, first - i * lineHeight * size],
    width: Math.min(right - left, widthOfCharacter * size * str.length),
    height: size,
    fontName: '',
    hasEOL: true,
  }));
}
