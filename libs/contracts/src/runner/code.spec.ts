import { codePart } from './code';

/** Parts of the code, read as its owner does. */
function partsOf(code: string, maxBytes: number): string[] {
  const all = Buffer.from(code);
  const parts: string[] = [];
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const latin1 = all.toString('latin1', offset, offset + maxBytes);
    const { text, nextOffset } = codePart({ whole: null, latin1 }, offset, maxBytes);
    parts.push(text);
    offset = nextOffset;
  }
  return parts;
}

it.each([8, 9, 10, 11])(
  'splits code with characters of one to four bytes at whole characters, at most %i bytes each',
  (max) => {
    const code = 'aü€😀'.repeat(10);

    const parts = partsOf(code, max);

    expect(parts.join('')).toBe(code);
    expect(parts.every((part) => Buffer.byteLength(part) <= max)).toBe(true);
  },
);

it('returns code that fits in one answer as it is', () => {
  expect(codePart({ whole: 'exports.handler = 1', latin1: null }, 0)).toEqual({ text: 'exports.handler = 1' });
});
