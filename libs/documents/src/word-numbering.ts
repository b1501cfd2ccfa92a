import { listNumber } from './list-number';
import { wholeNumber } from './whole-number';
import type { WordStyles } from './word-styles';
import { attributeOf, childElements, elementAt, scanTrees, valueOf, type XmlElement } from './xml-tree';

const deepestLevel = 8;
const longestLevelText = 200;
const largestNumber = 1_000_000_000;

interface Level {
  start: number;
  format: string;
  text: string;
  /** Level from 1 whose paragraphs restart this one; 0 for none. Default: all above. */
  restart?: number;
  /** Legal numbering: all numbers decimal. */
  isLegal: boolean;
  style?: string;
}

/** Abstract numbering: all numberings that refer to it go on counting together. */
interface Scheme {
  levels: (Level | undefined)[];
  /** Style of the numbering that defines the levels instead. */
  link?: string;
  counters: (number | undefined)[];
}

interface Numbering {
  scheme: string;
  starts: (number | undefined)[];
  levels: (Level | undefined)[];
  /** Levels whose own start is used up. */
  started: Set<number>;
}

export interface Mark {
  depth: number;
  /** As printed; `-` for bullets. */
  text: string;
}

/** Numbers of paragraphs as Word prints them, counted in the order in which the paragraphs are asked for. */
export class WordNumbering {
  private readonly schemes = new Map<string, Scheme>();
  private readonly numberings = new Map<string, Numbering>();

  constructor(
    part: Buffer | undefined,
    private readonly styles: WordStyles,
  ) {
    if (!part) return;
    scanTrees(part, new Set(['abstractNum', 'num']), (element) => {
      if (element.name === 'abstractNum') this.addScheme(element);
      else this.addNumbering(element);
    });
  }

  /** Counts the paragraph. Undefined for paragraphs without a number. */
  mark(properties: XmlElement | undefined, style: string): Mark | undefined {
    const own = elementAt(properties, 'numPr');
    const inherited = this.styles.numberingOf(style);
    const id = valueOf(elementAt(own, 'numId')) ?? inherited?.id;
    const numbering = id === undefined ? undefined : this.numberings.get(id);
    const scheme = numbering && this.schemeOf(numbering);
    if (!numbering || !scheme) return undefined;
    const level = levelIn(elementAt(own, 'ilvl')) ?? this.levelOfStyle(scheme, inherited) ?? 0;
    return this.count(numbering, scheme, level);
  }

  private levelOfStyle(scheme: Scheme, inherited: { style: string; level?: number } | undefined): number | undefined {
    if (!inherited) return undefined;
    const linked = scheme.levels.findIndex((level) => level?.style === inherited.style);
    return linked === -1 ? inherited.level : linked;
  }

  private count(numbering: Numbering, { levels, counters }: Scheme, depth: number): Mark | undefined {
    const levelAt = (index: number) => numbering.levels[index] ?? levels[index];
    const level = levelAt(depth);
    if (!level) return undefined;
    if (numbering.starts[depth] !== undefined && !numbering.started.has(depth)) counters[depth] = undefined;
    numbering.started.add(depth);
    const before = counters[depth];
    counters[depth] =
      before === undefined ? (numbering.starts[depth] ?? level.start) : Math.min(before + 1, largestNumber);
    for (let below = depth + 1; below <= deepestLevel; below++) {
      if (depth < (levelAt(below)?.restart ?? below)) counters[below] = undefined;
    }
    if (level.format === 'bullet') return { depth, text: '-' };
    const text = level.text.replace(/%([1-9])/g, (_, digit: string) => {
      const index = Number(digit) - 1;
      const shown = levelAt(index);
      if (!shown || index > depth) return '';
      return listNumber(counters[index] ?? shown.start, level.isLegal ? 'decimal' : shown.format);
    });
    return text.trim() === '' ? undefined : { depth, text: text.trim() };
  }

  private schemeOf(numbering: Numbering): Scheme | undefined {
    const passed = new Set<string>();
    for (let id = numbering.scheme; !passed.has(id);) {
      passed.add(id);
      const scheme = this.schemes.get(id);
      if (scheme?.link === undefined) return scheme;
      const linked = this.styles.numberingOf(scheme.link)?.id;
      const target = linked === undefined ? undefined : this.numberings.get(linked);
      if (!target) return scheme;
      id = target.scheme;
    }
    return undefined;
  }

  private addScheme(element: XmlElement): void {
    const id = attributeOf(element, 'abstractNumId');
    if (id === undefined || this.schemes.has(id)) return;
    const levels: (Level | undefined)[] = [];
    for (const level of childElements(element, 'lvl'))
      levels[levelNumber(attributeOf(level, 'ilvl')) ?? 0] = levelOf(level);
    this.schemes.set(id, { levels, link: valueOf(elementAt(element, 'numStyleLink')), counters: [] });
  }

  private addNumbering(element: XmlElement): void {
    const id = attributeOf(element, 'numId');
    // Zero removes the numbering of a style.
    if (id === undefined || id === '0' || this.numberings.has(id)) return;
    const numbering: Numbering = {
      scheme: valueOf(elementAt(element, 'abstractNumId')) ?? '',
      starts: [],
      levels: [],
      started: new Set(),
    };
    for (const override of childElements(element, 'lvlOverride')) {
      const level = levelNumber(attributeOf(override, 'ilvl')) ?? 0;
      const start = valueOf(elementAt(override, 'startOverride'));
      if (start !== undefined) numbering.starts[level] = numberIn(start, 1);
      const own = elementAt(override, 'lvl');
      if (own) numbering.levels[level] = levelOf(own);
    }
    this.numberings.set(id, numbering);
  }
}

function levelOf(element: XmlElement): Level {
  const value = (name: string) => valueOf(elementAt(element, name));
  const restart = value('lvlRestart');
  const legal = elementAt(element, 'isLgl');
  const level = levelNumber(attributeOf(element, 'ilvl')) ?? 0;
  return {
    start: numberIn(value('start'), 1),
    format: value('numFmt') ?? 'decimal',
    text: (value('lvlText') ?? `%${level + 1}.`).slice(0, longestLevelText),
    restart: restart === undefined ? undefined : numberIn(restart, 0),
    isLegal: legal !== undefined && !/^(?:0|false|off)$/.test(valueOf(legal) ?? ''),
    style: value('pStyle'),
  };
}

function levelIn(element: XmlElement | undefined): number | undefined {
  return levelNumber(valueOf(element));
}

function levelNumber(text: string | undefined): number | undefined {
  return text === undefined ? undefined : wholeNumber(text, { least: 0, most: deepestLevel, otherwise: 0 });
}

function numberIn(text: string | undefined, otherwise: number): number {
  return wholeNumber(text, { least: 0, most: largestNumber, otherwise });
}
