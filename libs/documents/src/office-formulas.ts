import { textOf, type XmlElement } from './xml-tree';

/** Operator written before the denominator, superscript, subscript or radicand of a formula. */
export const signs = new Map([
  ['den', '/'],
  ['sup', '^'],
  ['sub', '_'],
  ['rad', '√'],
]);

export function formulaText({ children }: XmlElement): string {
  const parts = children.map((child) => {
    if (typeof child === 'string') return '';
    const text = child.name === 't' ? textOf(child) : formulaText(child);
    return text === '' ? '' : (signs.get(child.name) ?? '') + text;
  });
  return parts.join('');
}
