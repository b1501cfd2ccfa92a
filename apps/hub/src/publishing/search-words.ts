const maxWords = 20;
/** Postgres takes 1 MB, of which the places of the words need a part. */
const maxVectorBytes = 500_000;

/** The words of a text as they are searched for: in lower case, `sendEvent` also as its parts. */
export function wordsOf(text: string): string[] {
  const whole = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const parts = whole.flatMap((word) => word.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?[^\p{Lu}]+/gu) ?? []);
  return [...new Set([...whole, ...parts].map((word) => word.toLowerCase()))];
}

/** The words of a search: what has none of them is not found, and what has a longer word is. */
export function searchedWords(search: string): string[] {
  const words = search.match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.map((word) => word.toLowerCase()))].slice(0, maxWords);
}

/** True when one of the words begins a word of the text. */
export function hasWord(text: string, words: string[]): boolean {
  const own = wordsOf(text);
  return words.some((word) => own.some((candidate) => candidate.startsWith(word)));
}

export interface SearchableText {
  name: string;
  title: string;
  description: string;
  actions: string[];
  interfaces: string[];
}

/**
 * A `tsvector` in which each word weighs by where it stands: A in the name, B in the title, C in names of actions and
 * interfaces, D in the description. Of very many names the last ones are left out.
 */
export function searchVector({ name, title, description, actions, interfaces }: SearchableText): string {
  const weighed: [string, string][] = [
    ...wordsOf(name).map((word): [string, string] => [word, 'A']),
    ...wordsOf(title).map((word): [string, string] => [word, 'B']),
    ...wordsOf(description).map((word): [string, string] => [word, 'D']),
    ...[...actions, ...interfaces].flatMap(wordsOf).map((word): [string, string] => [word, 'C']),
  ];
  // Words are letters and digits alone, so that nothing in them needs to be escaped.
  const entries = weighed.map(([word, weight], index) => `'${word}':${Math.min(index + 1, 16_383)}${weight}`);
  let bytes = 0;
  const end = entries.findIndex((entry) => (bytes += Buffer.byteLength(entry) + 1) > maxVectorBytes);
  return (end < 0 ? entries : entries.slice(0, end)).join(' ');
}

/** A `tsquery` for texts that have all of the words, or longer ones that begin with them. */
export function searchQuery(words: string[]): string {
  return words.map((word) => `'${word}':*`).join(' & ');
}
