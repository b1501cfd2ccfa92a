import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectGenerated } from './generated-text';

const rows = ['| name | about |', '| --- | --- |', '| `a` | A first row. |'].join('\n');
const formatted = ['| name | about        |', '| ---- | ------------ |', '| `a`  | A first row. |'].join('\n');

let folder: string;
const former = process.env['UPDATE_DOCS'];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-generated-'));
  process.env['UPDATE_DOCS'] = '1';
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  if (former === undefined) delete process.env['UPDATE_DOCS'];
  else process.env['UPDATE_DOCS'] = former;
});

it('writes a page as the formatter does', () => {
  const path = join(folder, 'page.md');

  expectGenerated(path, `# Page\n\n${rows}\n`);

  expect(readFileSync(path, 'utf8')).toBe(`# Page\n\n${formatted}\n`);
});

it('formats a section without changing the text around it', () => {
  const path = join(folder, 'page.md');
  writeFileSync(path, '# Page\n\nBefore.\n\n<!-- names -->\n\n<!-- end of names -->\n\nAfter.\n');

  expectGenerated(path, rows, 'names');

  expect(readFileSync(path, 'utf8')).toBe(
    `# Page\n\nBefore.\n\n<!-- names -->\n\n${formatted}\n\n<!-- end of names -->\n\nAfter.\n`,
  );
});

it('accepts a page that the formatter has padded, and refuses one with another text', () => {
  const path = join(folder, 'page.md');
  writeFileSync(path, `${formatted}\n`);
  delete process.env['UPDATE_DOCS'];

  expect(() => expectGenerated(path, `${rows}\n`)).not.toThrow();
  expect(() => expectGenerated(path, `${rows.replace('first', 'second')}\n`)).toThrow('second');
});
