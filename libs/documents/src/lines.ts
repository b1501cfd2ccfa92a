/** Lines of a text that comes in slices, without their ends. One longer than `longest` is given in parts. */
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

/** Looks back only a little: text without any space is cut where its slice ends. */
function lastWordEnd(text: string): number {
  const tail = Math.max(1, text.length - 10_000);
  for (let i = text.length; i > tail; i--) if (/\s/.test(text[i - 1]!)) return i;
  return text.length;
}
