const parts = new Set(['oddHeader', 'evenHeader', 'firstHeader', 'oddFooter', 'evenFooter', 'firstFooter']);
/** Sections, then fonts, sizes, colours and styles, then fields: pages, date, time, file, path, sheet, picture. */
const codes = /&(?:[LCR]|"[^"]*"|\d+|K[\dA-F]{6}|K\d\d[+-]\d{3}|[BIUSEXYOH]|[PNDTFZAG])/gi;
/** Such as `Page &P of &N`. */
const pages = /^\s*\p{L}*\.?\s*(?:&[PN][\s/]*(?:\p{L}{1,5}[\s/]*)?){1,2}$/iu;
const fonts = /&(?:"[^"]*"|\d+|K[\dA-F]{6})/gi;

/** Whether an element of a worksheet is a header or footer of its printed pages. */
export const isMargin = (name: string) => parts.has(name);

/** Texts of a header or footer of a sheet, without the fields that a program fills in. */
export function marginText(code: string): string {
  return code
    .replaceAll(fonts, '')
    .split(/&[LCR]/i)
    .filter((section) => !pages.test(section))
    .map((section) =>
      section
        .split('&&')
        .map((text) => text.replaceAll(codes, ' '))
        .join('&')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((text) => text !== '')
    .join('\n');
}
