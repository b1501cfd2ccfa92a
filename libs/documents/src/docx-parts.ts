import { signs } from './office-formulas';
import { localName, scanXml, type XmlListener } from './xml-tree';

const transitional = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const wordNamespaces = new Set([transitional, 'http://purl.oclc.org/ooxml/wordprocessingml/main']);
const namespace = `xmlns="${transitional}"`;
const header = `<tblHeader ${namespace}/>`;

/** Wrapper elements of text that mammoth does not descend into. */
const transparent = new Set([
  ...['fldSimple', 'dir', 'bdo', 'ruby', 'rubyBase', 'oMathPara'],
  // VML shapes that mammoth does not know.
  ...['oval', 'line', 'polyline', 'curve', 'arc', 'image'],
]);
/** Ruby annotations: pronunciation of the base text, left out. */
const annotations = new Set(['rt', 'rubyPr']);
/** Elements that have only text: mammoth refuses elements in them. */
const textOnly = new Set(['t', 'delText', 'instrText']);
const firstRowBit = 0x0020;
const deepestHeading = 6;

interface Table {
  hasHeader?: boolean;
  rows: number;
  /** Element depth of a first row that still needs its `tblHeader` mark. */
  unmarked?: number;
  /** Reserved piece for the `tblHeader` mark, filled in when a second row follows. */
  mark?: { piece: number; text: string };
}

interface Alternatives {
  depth: number;
  start: number;
  hasBox: boolean;
}

interface Drawing {
  depth: number;
  start: number;
  /** Whether the drawing has a text box. If so, nothing else of the drawing is written. */
  hasBox: boolean;
}

/** Styles of a Word document that its other parts refer to. */
export interface KnownStyles {
  /** Heading level by paragraph style id. */
  headings: ReadonlyMap<string, number>;
  /** Ids of the styles of numberings. */
  numberings: ReadonlySet<string>;
}

/**
 * Rewrites a part of a Word document so that mammoth loses no text. Fields, direction changes, formulas and ruby base
 * text become runs. Text boxes of drawings become VML text boxes. First rows formatted as headers become header rows.
 * Keeps the first alternative with a text box, otherwise the last. References that mammoth cannot follow are left out.
 */
export function rewritten(part: Buffer, styles: KnownStyles): string {
  const writer = new PartWriter(styles);
  scanXml(part, writer);
  return writer.pieces.join('');
}

/** Heading levels include those of styles derived from a heading style: mammoth only knows the built-in heading styles. */
export function knownStyles(styles: Buffer): KnownStyles {
  const numberings = new Set<string>();
  const names = new Map<string, string>();
  const bases = new Map<string, string>();
  let id = '';
  let depth = 0;
  let prefix: string | undefined;
  scanXml(styles, {
    open(name, attributes, written) {
      depth++;
      if (depth === 1) prefix = prefixOfWord(attributes);
      if (name === 'style') {
        id = attributeOf(attributes, 'styleId') ?? '';
        // Mammoth knows no style within another element, nor one of another namespace.
        const isKnown = depth === 2 && written === `${prefix}style`;
        if (isKnown && attributeOf(attributes, 'type') === 'numbering') numberings.add(id);
      } else if (name === 'name' && !names.has(id)) names.set(id, attributeOf(attributes, 'val') ?? '');
      else if (name === 'basedOn' && !bases.has(id)) bases.set(id, attributeOf(attributes, 'val') ?? '');
    },
    close: () => depth--,
  });
  const levels = new Map<string, number>();
  for (const style of bases.keys()) {
    const passed = new Set<string>();
    let base = style;
    while (!levels.has(base) && !passed.has(base)) {
      passed.add(base);
      const level = /^(?:heading ([1-9])|(?:sub)?title)$/i.exec(names.get(base) ?? '');
      if (level) levels.set(base, Number(level[1] ?? 0));
      else base = bases.get(base) ?? '';
    }
    const level = levels.get(base) ?? 0;
    for (const found of passed) if (!levels.has(found)) levels.set(found, level);
  }
  return { headings: new Map([...levels].filter(([, level]) => level > 0)), numberings };
}

/** Prefix of elements of Word, as in `w:`. Undefined if the root element does not declare their namespace. */
function prefixOfWord(attributes: Record<string, string>): string | undefined {
  const [declaration] = Object.entries(attributes).find(([, value]) => wordNamespaces.has(value)) ?? [];
  return declaration?.replace(/^xmlns:(.*)$/, '$1:').replace(/^xmlns$/, '');
}

class PartWriter implements XmlListener {
  readonly pieces: string[] = [];
  private readonly tables: Table[] = [];
  private depth = 0;
  private style = '';
  private leftOut: number | undefined;
  /** Depth of an open element that has only text. */
  private textOnly: number | undefined;
  private readonly alternatives: Alternatives[] = [];
  /** Undefined inside a text box. */
  private drawing: Drawing | undefined;
  private readonly around: (Drawing | undefined)[] = [];
  private formula: { depth: number; isText: boolean; sign: string; text: string } | undefined;

  constructor(private readonly styles: KnownStyles) {}

  open(name: string, attributes: Record<string, string>, written: string): void {
    this.depth++;
    if (this.leftOut !== undefined || this.textOnly !== undefined) return;
    if (this.formula) {
      this.formula.isText = name === 't';
      this.formula.sign = signs.get(name) ?? this.formula.sign;
    } else if (name === 'oMath') this.formula = { depth: this.depth, isText: false, sign: '', text: '' };
    else if (annotations.has(name)) this.leftOut = this.depth;
    else if (name === 'cr') this.write(`<br ${namespace}>`);
    else if (name === 'AlternateContent') this.startAlternatives(attributes, written);
    else if (name === 'Choice' || name === 'Fallback') this.startAlternative(attributes, written);
    else if (name === 'drawing') this.startDrawing(attributes, written);
    else if (name === 'txbxContent') this.startBox(attributes, written);
    else if (!transparent.has(name)) {
      this.element(name, attributes, written);
      if (textOnly.has(name)) this.textOnly = this.depth;
    }
  }

  text(text: string): void {
    if (this.leftOut !== undefined) return;
    if (!this.formula) this.write(escaped(text));
    else if (this.formula.isText) {
      this.formula.text += this.formula.sign + text;
      this.formula.sign = '';
    }
  }

  close(name: string, written: string): void {
    const depth = this.depth--;
    if (this.leftOut !== undefined) {
      if (this.leftOut === depth) this.leftOut = undefined;
    } else if (this.textOnly !== undefined && this.textOnly !== depth) return;
    else if (this.formula) {
      this.formula.isText = false;
      if (this.formula.depth === depth) this.endFormula(this.formula.text);
    } else if (name === 'cr') this.write('</br>');
    else if (name === 'txbxContent') this.endBox(written);
    else if (!transparent.has(name)) {
      this.textOnly = undefined;
      // Mammoth reads the first one, and fails without any.
      if (name === 'num') this.write(`<abstractNumId ${namespace}/>`);
      if (name === 'tbl') this.tables.pop();
      else if (name === 'AlternateContent') this.alternatives.pop();
      this.write(`</${name === 'Choice' ? asFallback(written) : written}>`);
      if (this.drawing?.depth === depth) this.drawing = undefined;
    }
  }

  private write(piece: string): void {
    if (!this.drawing?.hasBox) this.pieces.push(piece);
  }

  private startAlternatives(attributes: Record<string, string>, written: string): void {
    this.element('AlternateContent', attributes, written);
    this.alternatives.push({ depth: this.depth, start: this.pieces.length, hasBox: false });
  }

  /** A later alternative replaces the kept one. `Choice` is written as `Fallback`, because mammoth reads only that. */
  private startAlternative(attributes: Record<string, string>, written: string): void {
    const alternatives = this.alternatives.at(-1);
    if (alternatives?.depth === this.depth - 1) {
      if (alternatives.hasBox) {
        this.leftOut = this.depth;
        return;
      }
      this.pieces.length = alternatives.start;
    }
    this.element('Fallback', attributes, asFallback(written));
  }

  private startDrawing(attributes: Record<string, string>, written: string): void {
    this.drawing ??= { depth: this.depth, start: this.pieces.length, hasBox: false };
    this.element('drawing', attributes, written);
  }

  /** Mammoth reads text boxes only from VML pictures, and only images from drawings. */
  private startBox(attributes: Record<string, string>, written: string): void {
    for (const alternatives of this.alternatives) alternatives.hasBox = true;
    const { drawing } = this;
    this.around.push(drawing);
    this.drawing = undefined;
    if (drawing) {
      if (!drawing.hasBox) this.pieces.length = drawing.start;
      drawing.hasBox = true;
      this.pieces.push(`<${asPicture(written)}>`);
    }
    this.element('txbxContent', attributes, written);
  }

  private endBox(written: string): void {
    this.write(`</${written}>`);
    this.drawing = this.around.pop();
    if (this.drawing) this.pieces.push(`</${asPicture(written)}>`);
  }

  private element(name: string, attributes: Record<string, string>, written: string): void {
    const table = this.tables.at(-1);
    const isInFirstRow = table?.unmarked !== undefined && this.depth === table.unmarked + 1 && name !== 'tblPrEx';
    if (isInFirstRow && name !== 'trPr') this.reserveMark(table, `<trPr ${namespace}>${header}</trPr>`);
    if (name === 'tbl') this.tables.push({ rows: 0 });
    else if (name === 'tblLook' && table) table.hasHeader ??= hasFirstRow(attributes);
    else if (name === 'tr' && table) this.startRow(table);
    else if (name === 'style') this.style = attributeOf(attributes, 'styleId') ?? '';
    if (name === 'numStyleLink' && !this.styles.numberings.has(attributeOf(attributes, 'val') ?? '')) attributes = {};
    const level = name === 'name' ? this.styles.headings.get(this.style) : undefined;
    const changed = Object.entries(attributes).map(([key, value]) => {
      const isName = level !== undefined && localName(key) === 'val';
      return ` ${key}="${escaped(isName ? `heading ${Math.min(level, deepestHeading)}` : value)}"`;
    });
    this.write(`<${written}${changed.join('')}>`);
    if (isInFirstRow && name === 'trPr') this.reserveMark(table, header);
  }

  private startRow(table: Table): void {
    table.rows++;
    if (table.rows === 1 && table.hasHeader) table.unmarked = this.depth;
    if (table.rows === 2 && table.mark) this.pieces[table.mark.piece] = table.mark.text;
  }

  private reserveMark(table: Table, text: string): void {
    table.unmarked = undefined;
    table.mark = { piece: this.pieces.push('') - 1, text };
  }

  private endFormula(text: string): void {
    this.formula = undefined;
    this.write(`<r ${namespace}><t>${escaped(text)}</t></r>`);
  }
}

function asFallback(written: string): string {
  return written.replace('Choice', 'Fallback');
}

function asPicture(written: string): string {
  return written.replace('txbxContent', 'pict');
}

function hasFirstRow(attributes: Record<string, string>): boolean {
  const firstRow = attributeOf(attributes, 'firstRow');
  if (firstRow !== undefined) return ['1', 'true', 'on'].includes(firstRow);
  return (Number.parseInt(attributeOf(attributes, 'val') ?? '0', 16) & firstRowBit) !== 0;
}

function attributeOf(attributes: Record<string, string>, name: string): string | undefined {
  const key = Object.keys(attributes).find((written) => localName(written) === name);
  return key === undefined ? undefined : attributes[key];
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"\t\r\n]/g, (character) => entities[character] ?? `&#${character.charCodeAt(0)};`);
}
