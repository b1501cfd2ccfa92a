import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Compares a committed text, or its section between `<!-- <section> -->` and `<!-- end of <section> -->`, with the generated
 * one. `UPDATE_DOCS=1` writes it instead, formatted. The padding of table columns does not count.
 */
export function expectGenerated(path: string, generated: string, section?: string): void {
  const isUpdate = process.env['UPDATE_DOCS'] === '1';
  const committed = section || !isUpdate ? readFileSync(path, 'utf8') : '';
  const right = section ? replaceSection(path, committed, generated, section) : generated;
  if (isUpdate) write(path, right);
  else expect(normalise(committed)).toBe(normalise(right));
}

function write(path: string, text: string): void {
  writeFileSync(path, text);
  const formatter = join(dirname(require.resolve('oxfmt/package.json')), 'bin', 'oxfmt');
  // Some pages are exempt in .oxfmtrc.json.
  execFileSync(process.execPath, [formatter, '--no-error-on-unmatched-pattern', path], { stdio: 'pipe' });
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
