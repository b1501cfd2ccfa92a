/**
 * Splits text into pieces of similar size with at most `size` characters, before a space where possible. The
 * concatenation of the pieces is the text.
 */
export function textWindows(text: string, size: number): string[] {
  const windows: string[] = [];
  let start = 0;
  while (text.length - start > size) {
    const rest = text.length - start;
    const end = cutBefore(text, start, start + Math.ceil(rest / Math.ceil(rest / size)));
    windows.push(text.slice(start, end));
    start = end;
  }
  windows.push(text.slice(start));
  return windows;
}

function cutBefore(text: string, start: number, limit: number): number {
  for (let end = limit; end > start + (limit - start) / 2; end--) if (/\s/.test(text[end]!)) return end;
  const splitsPair = /[\ud800-\udbff]/.test(text[limit - 1]!) && limit - 1 > start;
  return splitsPair ? limit - 1 : limit;
}
