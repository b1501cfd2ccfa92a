/** Splits a stream of slices into lines without line ends. Lines longer than `longest` are split. */
export function* lines(slices: Iterable<string>, longest = Infinity): Generator<string> {
  let begun: string[] = [];
  let length = 0;
  for (const slice of slices) {
    let start = 0;
    for (let end = slice.indexOf('\n'); end >= 0; end = slice.indexOf('\n', start)) {
      begun.push(slice.slice(start, end));
      yield begun.join('');
      begun = [];
      length = 0;
      start = end + 1;
    }
    const rest = slice.slice(start);
    begun.push(rest);
    length += rest.length;
    if (length > longest) {
      const text = begun.join('');
      const cut = lastWordEnd(text);
      yield text.slice(0, cut);
      begun = [text.slice(cut)];
      length = text.length - cut;
    }
  }
  if (length > 0) yield begun.join('');
}

/** Searches the last 10,000 characters only; text without a space is cut at the end of its slice. */
function lastWordEnd(text: string): number {
  const tail = Math.max(1, text.length - 10_000);
  for (let i = text.length; i > tail; i--) if (/\s/.test(text[i - 1]!)) return i;
  return text.length;
}
