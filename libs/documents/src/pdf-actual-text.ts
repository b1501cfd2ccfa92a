import type { PDFPageProxy, TextContent, TextItem, TextMarkedContent } from 'pdfjs-dist/types/src/display/api';
import { withMapAccess } from './pdf-map-access';
import { pdfString } from './pdf-string';

/** Identifiers of marked content with a replacement text: above those of any PDF. */
const firstReplaced = 1_000_000_000;
/** Optional content, and content that is not part of the text. */
const unreplaced = new Set<unknown>(['OC', 'Artifact']);
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufefc]/;

/**
 * Text of pages with the replacement text (`ActualText`) of marked content in place of its characters. Replacements are
 * looked for where marked content was found on the same page or the page before, because that takes a tenth longer.
 */
export class PageTexts {
  private isMarked = false;

  async of(page: PDFPageProxy): Promise<TextContent> {
    try {
      return await this.withReplacements(page);
    } catch (error) {
      // pdfjs-dist passes all marks that stay open to one call.
      if (error instanceof RangeError) return page.getTextContent();
      throw error;
    }
  }

  private async withReplacements(page: PDFPageProxy): Promise<TextContent> {
    const read = () => page.getTextContent({ includeMarkedContent: true });
    if (!this.isMarked) {
      const content = await read();
      if (!mayReplace(content)) return plain(content);
    }
    const texts: string[] = [];
    const content = await withMapAccess(
      {
        get(key, value) {
          if (key !== 'MCID') return value;
          const text = this.get('ActualText');
          return typeof text === 'string' ? firstReplaced + texts.push(text) - 1 : value;
        },
      },
      read,
    );
    this.isMarked = mayReplace(content);
    return texts.length > 0 ? replaced(content, texts) : plain(content);
  }
}

function mayReplace({ items }: TextContent): boolean {
  return items.some((item) => !isText(item) && item.type === 'beginMarkedContentProps' && !unreplaced.has(tagOf(item)));
}

/** The types of pdfjs-dist leave out the tag. */
function tagOf(item: TextMarkedContent): unknown {
  return 'tag' in item ? item.tag : undefined;
}

function isText(item: TextItem | TextMarkedContent): item is TextItem {
  return 'str' in item;
}

function plain(content: TextContent): TextContent {
  return { ...content, items: content.items.filter(isText) };
}

function replaced(content: TextContent, texts: string[]): TextContent {
  const items: TextItem[] = [];
  let depth = 0;
  let open: { depth: number; text: string; items: TextItem[] } | undefined;
  for (const item of content.items) {
    if (isText(item)) (open?.items ?? items).push(item);
    else if (item.type === 'endMarkedContent') {
      if (open?.depth === depth) {
        items.push(...replacement(open.text, open.items, items.at(-1)));
        open = undefined;
      }
      depth--;
    } else {
      depth++;
      const number = Number(/_mc(\d+)$/.exec(item.id ?? '')?.[1]) - firstReplaced;
      const text = texts[number];
      if (!open && text !== undefined) open = { depth, text: pdfString(text), items: [] };
    }
  }
  return { ...content, items: [...items, ...(open?.items ?? [])] };
}

/** Replaces items by one at the place of the first. Paths without characters are placed after the text before. */
function replacement(text: string, items: TextItem[], before: TextItem | undefined): TextItem[] {
  const at = items.findIndex(({ str }) => str.trim() !== '');
  const first = items[at];
  if (text === '') {
    // The characters that are removed leave no gap.
    if (before && first) before.width += items.reduce((sum, item) => sum + item.width, 0);
    return [];
  }
  if (!first && !before) return [];
  const dir = rightToLeft.test(text) ? 'rtl' : 'ltr';
  if (!first) {
    const after = { ...afterItem(before!), dir };
    return [
      { ...after, str: ' ' },
      { ...after, str: text },
    ];
  }
  const { transform } = first;
  const [scale, , , , x, y] = transform as number[];
  const onLine = items.filter((item) => (item.transform as number[])[5] === y);
  const end = onLine.reduce((right, item) => Math.max(right, xOf(item) + item.width), x! + first.width);
  const width = scale! > 0 ? end - x! : first.width;
  return [...items.slice(0, at), { ...first, str: text, dir, width, hasEOL: items.at(-1)!.hasEOL }];
}

function xOf({ transform }: TextItem): number {
  return (transform as number[])[4]!;
}

function afterItem(item: TextItem): TextItem {
  const [a, b, c, d, e, f] = item.transform as [number, number, number, number, number, number];
  const length = Math.hypot(a, b) || 1;
  const transform = [a, b, c, d, e + (item.width * a) / length, f + (item.width * b) / length];
  return { ...item, transform, width: 0 };
}
