import type { Block } from './block';
import { BlockWriter, type ListItem } from './block-writer';
import { listNumber } from './list-number';
import { formulaText } from './office-formulas';
import { wholeNumber } from './whole-number';
import { attributeOf, childElements, descendants, elementAt, textOf, type XmlElement } from './xml-tree';

const fileName = /\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp|heic)$/i;
const numberings: Record<string, string> = {
  alphaLc: 'lowerLetter',
  alphaUc: 'upperLetter',
  romanLc: 'lowerRoman',
  romanUc: 'upperRoman',
};

/** Shapes of a drawing in document order, those of groups included. */
export function shapesIn(container: XmlElement | undefined): XmlElement[] {
  return childElements(container).flatMap((child) => {
    if (child.name === 'grpSp') return shapesIn(child);
    if (child.name === 'AlternateContent') return shapesIn(shownOf(child));
    return ['sp', 'graphicFrame', 'cxnSp', 'pic'].includes(child.name) ? [child] : [];
  });
}

/** Office shows the first alternative that it supports; the first `Choice` is taken. */
export function shownOf(alternatives: XmlElement): XmlElement | undefined {
  return elementAt(alternatives, 'Choice') ?? elementAt(alternatives, 'Fallback');
}

/** Properties that are not visible: name, description, placeholder. */
export function hiddenProperties(shape: XmlElement): XmlElement | undefined {
  return childElements(shape).find(({ name }) => name.startsWith('nv'));
}

/** Alternative text of a picture or shape; none for decorative ones and for names of files. */
export function alternativeText(properties: XmlElement | undefined): string {
  if (!properties) return '';
  const isDecorative = descendants(properties, 'decorative').some((mark) => attributeOf(mark, 'val') === '1');
  const text = [properties.attributes['descr'], properties.attributes['title']].map((one) => one?.trim()).find(Boolean);
  return !text || isDecorative || fileName.test(text) ? '' : text;
}

export function writeAlternativeText(writer: BlockWriter, shape: XmlElement): void {
  writer.write({ type: 'paragraph', text: alternativeText(elementAt(hiddenProperties(shape), 'cNvPr')) });
}

/** Paragraphs in content placeholders are bullets by default; elsewhere only with an explicit bullet. */
export function writeParagraphs(writer: BlockWriter, shape: XmlElement, { bullets }: { bullets: boolean }): void {
  let items: ListItem[] = [];
  const numbers: number[] = [];
  const endList = () => {
    if (items.length > 0) writer.list(items);
    items = [];
    numbers.length = 0;
  };
  for (const paragraph of childElements(elementAt(shape, 'txBody'), 'p')) {
    const text = paragraphText(paragraph);
    if (text.trim() === '') continue;
    const properties = elementAt(paragraph, 'pPr');
    const numbered = elementAt(properties, 'buAutoNum');
    const isItem = numbered || elementAt(properties, 'buChar') || (bullets && !elementAt(properties, 'buNone'));
    if (!isItem) {
      endList();
      writer.write({ type: 'paragraph', text });
      continue;
    }
    const depth = wholeNumber(properties?.attributes['lvl'], { least: 0, most: 8, otherwise: 0 });
    numbers.length = depth + 1;
    const first = wholeNumber(numbered?.attributes['startAt'], { least: 0, otherwise: 1 });
    numbers[depth] = (numbers[depth] ?? first - 1) + 1;
    items.push({ depth, marker: numbered ? `${printed(numbers[depth], numbered.attributes['type'])} ` : '- ', text });
  }
  endList();
}

/** Number with the marks around it, as `alphaLcParenBoth` has them. */
function printed(number: number, type = ''): string {
  const kind = /^(?:alpha|roman)[LU]c/.exec(type)?.[0];
  const text = listNumber(number, kind ? numberings[kind]! : 'decimal');
  if (type.endsWith('ParenBoth')) return `(${text})`;
  if (type.endsWith('ParenR')) return `${text})`;
  return type.endsWith('Plain') ? text : `${text}.`;
}

/** SmartArt: texts in the order in which they are stored. */
export function diagramBlocks(diagram: XmlElement): Block[] {
  const writer = new BlockWriter();
  const texts = descendants(diagram, 't').flatMap((body) => childElements(body, 'p').map(paragraphText));
  writer.list(texts.map((text) => ({ depth: 0, marker: '- ', text })));
  return writer.blocks();
}

export function shapeText(shape: XmlElement): string {
  return childElements(elementAt(shape, 'txBody'), 'p').map(paragraphText).join('\n').trim();
}

export function paragraphText(paragraph: XmlElement): string {
  return runsText(paragraph).replaceAll('\v', '\n').trim();
}

function runsText(container: XmlElement | undefined): string {
  const parts = childElements(container).map((child) => {
    if (child.name === 'br') return '\n';
    if (child.name === 'm') return formulaText(child);
    if (child.name === 'AlternateContent') return runsText(shownOf(child));
    return child.name === 'r' || child.name === 'fld' ? descendants(child, 't').map(textOf).join('') : '';
  });
  return parts.join('');
}
