/** Characters of PDFDocEncoding from 0x18 and from 0x80 that Latin-1 does not have; a space where none is defined. */
const accents = '\u02d8\u02c7\u02c6\u02d9\u02dd\u02db\u02da\u02dc';
const signs = '•†‡…—–ƒ⁄‹›−‰„“”‘’‚™\ufb01\ufb02ŁŒŠŸŽıłœšž €';
// oxlint-disable-next-line eslint/no-control-regex -- marks of the language of a text
const language = /\u001b[^\u001b]{0,20}\u001b/g;

/** Text string of PDF from its bytes, one a character: UTF-16 or UTF-8 with a mark, else PDFDocEncoding. */
export function pdfString(bytes: string): string {
  const encoding = bytes.startsWith('\u00fe\u00ff')
    ? 'utf-16be'
    : bytes.startsWith('\u00ff\u00fe')
      ? 'utf-16le'
      : bytes.startsWith('\u00ef\u00bb\u00bf')
        ? 'utf-8'
        : undefined;
  if (encoding) return new TextDecoder(encoding).decode(Buffer.from(bytes, 'latin1')).replace(language, '');
  // oxlint-disable-next-line eslint/no-control-regex -- letters in this encoding
  return bytes.replace(/[\u0018-\u001f\u0080-\u00a0]/g, (character) => {
    const code = character.charCodeAt(0);
    return (code < 0x80 ? accents[code - 0x18] : signs[code - 0x80]) ?? ' ';
  });
}
