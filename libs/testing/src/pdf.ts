export interface DrawnText {
  text: string;
  /** In points from the lower left corner of the page. */
  x: number;
  y: number;
  size?: number;
  font?: 'regular' | 'bold';
}

export const pageHeight = 792;
const pageWidth = 612;
/** Pages are in groups, as in large files of real programs: finding one page in a flat list reads all pages before it. */
const pagesInGroup = 100;
const fonts = { regular: 'Helvetica', bold: 'Helvetica-Bold' };

/** PDF whose pages show these texts, drawn in this order. Characters of Latin-1 only. */
export function pdfOf(pages: DrawnText[][]): Buffer {
  const groups = Math.ceil(pages.length / pagesInGroup);
  const numbers = (first: number, count: number, step = 1) =>
    Array.from({ length: count }, (_, i) => `${first + i * step} 0 R`).join(' ');
  const firstGroup = 5;
  const firstPage = firstGroup + groups;
  const tree = Array.from({ length: groups }, (_, group) => {
    const count = Math.min(pagesInGroup, pages.length - group * pagesInGroup);
    const kids = numbers(firstPage + 2 * group * pagesInGroup, count, 2);
    return `<< /Type /Pages /Parent 2 0 R /Kids [${kids}] /Count ${count} >>`;
  });
  const shown = pages.flatMap((texts, i) => {
    const content = texts.map(drawing).join('\n');
    return [
      `<< /Type /Page /Parent ${firstGroup + Math.floor(i / pagesInGroup)} 0 R /Contents ${firstPage + 2 * i + 1} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    ];
  });
  const font = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
  const common = `/MediaBox [0 0 ${pageWidth} ${pageHeight}] /Resources << /Font << /regular 3 0 R /bold 4 0 R >> >>`;
  return pdfOfObjects([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${numbers(firstGroup, groups)}] /Count ${pages.length} ${common} >>`,
    font(fonts.regular),
    font(fonts.bold),
    ...tree,
    ...shown,
  ]);
}

function drawing({ text, x, y, size = 10, font = 'regular' }: DrawnText): string {
  return `BT /${font} ${size} Tf 1 0 0 1 ${x} ${y} Tm (${text.replace(/[\\()]/g, '\\$&')}) Tj ET`;
}

/** PDF of these objects, numbered from 1. The first must be the catalog. */
export function pdfOfObjects(objects: string[]): Buffer {
  let pdf = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const offset = pdf.length;
    pdf += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${pdf.length}\n%%EOF\n`;
  return Buffer.from(`${pdf}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}${trailer}`, 'latin1');
}
