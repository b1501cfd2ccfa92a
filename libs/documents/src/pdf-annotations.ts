import type { PDFPageProxy, TextContent, TextItem } from 'pdfjs-dist/types/src/display/api';

interface Annotation {
  subtype: string;
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

const isNotShown = 2 | 32;
const usualSize = 10;
const ticked = '☒';
/** Multiples of the font size. */
const lineHeight = 1.2;
const widthOfCharacter = 0.5;
const middleAboveBaseline = 0.35;
/** Vertical distances in points at which a field's label is searched, nearest first. */
const nearRows = [0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5];

/** Page text with form values and free-text annotations, each inserted after its label in drawing order. */
export async function withAnnotations(content: TextContent, page: PDFPageProxy): Promise<TextContent> {
  // Damaged annotations do not prevent reading the page text.
  const annotations = await page.getAnnotations().catch(() => []);
  const fields = (annotations as Annotation[]).filter(isShown).flatMap((shown) => drawn(textOf(shown), shown));
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

function isShown({ subtype, hidden, password, annotationFlags = 0 }: Annotation): boolean {
  const hasText = subtype === 'Widget' || subtype === 'FreeText';
  return hasText && !hidden && !password && (annotationFlags & isNotShown) === 0;
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
