import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Compares a committed text, or its section between `<!-- <section> -->` and `<!-- end of <section> -->`, with the generated
 * one. `UPDATE_DOCS=1` writes it instead. The padding of table columns does not count.
 */
export function expectGenerated(path: string, generated: string, section?: string): void {
  const isUpdate = process.env['UPDATE_DOCS'] === '1';
  const committed = section || !isUpdate ? readFileSync(path, 'utf8') : '';
  const right = section ? replaceSection(path, committed, generated, section) : generated;
  if (isUpdate) writeFileSync(path, right);
  else expect(normalise(committed)).toBe(normalise(right));
}

function replaceSection(path: string, text: string, generated: string, section: string): string {
  const [begin, end] = [`<!-- ${section} -->\n`, `\n<!-- end of ${section} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} has no section "${section}".`);
  return `${text.slice(0, from + begin.length)}\n${generated}\n${text.slice(to)}`;
}

function normalise(markdown: string): string {
  return markdown.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
}
