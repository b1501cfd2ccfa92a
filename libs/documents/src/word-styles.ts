import { wholeNumber } from './whole-number';
import { attributeOf, elementAt, scanTrees, valueOf } from './xml-tree';

const deepestHeading = 6;
const quotes = new Set(['quote', 'intense quote', 'quotations', 'block text']);
const codes = new Set(['html preformatted', 'preformatted text', 'source code', 'code', 'macro text', 'macro']);

interface Style {
  name: string;
  base?: string;
  numbering?: string;
  level?: number;
}

export type ParagraphKind =
  | { type: 'heading'; level: number }
  | { type: 'code' | 'blockquote' | 'paragraph' }
  /** List style whose numbering does not give the depth. */
  | { type: 'list'; depth: number; isNumbered: boolean };

const plain: ParagraphKind = { type: 'paragraph' };

/** Styles of a Word document. */
export class WordStyles {
  private readonly styles = new Map<string, Style>();
  private readonly kinds = new Map<string, ParagraphKind>();

  constructor(part: Buffer | undefined) {
    if (!part) return;
    scanTrees(part, new Set(['style']), (element) => {
      const id = attributeOf(element, 'styleId');
      if (id === undefined || this.styles.has(id)) return;
      const numbering = elementAt(element, 'pPr', 'numPr');
      const level = valueOf(elementAt(numbering, 'ilvl'));
      this.styles.set(id, {
        name: valueOf(elementAt(element, 'name'))?.toLowerCase() ?? '',
        base: valueOf(elementAt(element, 'basedOn')),
        numbering: valueOf(elementAt(numbering, 'numId')),
        level: level === undefined ? undefined : wholeNumber(level, { least: 0, most: 8, otherwise: 0 }),
      });
    });
  }

  kindOf(id: string): ParagraphKind {
    let kind = this.kinds.get(id);
    if (!kind) {
      kind = this.kindByName(id);
      this.kinds.set(id, kind);
    }
    return kind;
  }

  /** Numbering of a style or of the nearest style below it that has one. */
  numberingOf(id: string): { id: string; style: string; level?: number } | undefined {
    for (const [style, { numbering, level }] of this.chainOf(id)) {
      if (numbering !== undefined) return { id: numbering, style, level };
    }
    return undefined;
  }

  private kindByName(id: string): ParagraphKind {
    const name = this.styles.get(id)?.name ?? id.toLowerCase().replace(/^heading(?=[1-9]$)/, 'heading ');
    if (name === 'title' || name === 'heading') return { type: 'heading', level: 1 };
    if (name === 'subtitle') return { type: 'heading', level: 2 };
    if (quotes.has(name)) return { type: 'blockquote' };
    if (codes.has(name)) return { type: 'code' };
    const [, list, depth] = /^list (bullet|number)(?: ([2-5]))?$/.exec(name) ?? [];
    if (list) return { type: 'list', depth: Number(depth ?? 1) - 1, isNumbered: list === 'number' };
    for (const [, { name: base }] of this.chainOf(id)) {
      // Paragraphs below a title do not belong to it.
      if (/^(?:sub)?title$/.test(base)) return plain;
      const level = levelOf(base);
      if (level) return { type: 'heading', level };
    }
    const level = this.styles.has(id) ? undefined : levelOf(name);
    return level ? { type: 'heading', level } : plain;
  }

  /** A style and those that it is based on; each once, since hostile ones go in a circle. */
  private *chainOf(id: string): Generator<[string, Style]> {
    const passed = new Set<string>();
    for (let next: string | undefined = id; next !== undefined && !passed.has(next);) {
      const style = this.styles.get(next);
      if (!style) return;
      passed.add(next);
      yield [next, style];
      next = style.base;
    }
  }
}

function levelOf(name: string): number | undefined {
  const level = /^heading ([1-9])$/.exec(name)?.[1];
  return level === undefined ? undefined : Math.min(Number(level), deepestHeading);
}
