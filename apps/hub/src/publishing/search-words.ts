const maxWords = 20;
/** Half of Postgres' limit of 1 MB for a tsvector, since word positions need space too. */
const maxVectorBytes = 500_000;

/** Words of a text for the index: in lower case; `sendEvent` is also split into its parts. */
export function wordsOf(text: string): string[] {
  const whole = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const parts = whole.flatMap((word) => word.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?[^\p{Lu}]+/gu) ?? []);
  return [...new Set([...whole, ...parts].map((word) => word.toLowerCase()))];
}

/** Words of a search. A text matches only if it has all of them, each as a word or as the beginning of one. */
export function searchedWords(search: string): string[] {
  const words = search.match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.map((word) => word.toLowerCase()))].slice(0, maxWords);
}

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
 * Builds a `tsvector` with weights: A for the name, B for the title, C for names of actions and interfaces, D for the
 * description. Drops the last words above the size limit.
 */
export function searchVector({ name, title, description, actions, interfaces }: SearchableText): string {
  const weighed: [string, string][] = [
    ...wordsOf(name).map((word): [string, string] => [word, 'A']),
    ...wordsOf(title).map((word): [string, string] => [word, 'B']),
    ...wordsOf(description).map((word): [string, string] => [word, 'D']),
    ...[...actions, ...interfaces].flatMap(wordsOf).map((word): [string, string] => [word, 'C']),
  ];
  // Needs no escaping: words consist of letters and digits only.
  const entries = weighed.map(([word, weight], index) => `'${word}':${Math.min(index + 1, 16_383)}${weight}`);
  let bytes = 0;
  const end = entries.findIndex((entry) => (bytes += Buffer.byteLength(entry) + 1) > maxVectorBytes);
  return (end < 0 ? entries : entries.slice(0, end)).join(' ');
}

/** Builds a `tsquery` that matches all words as prefixes. */
export function searchQuery(words: string[]): string {
  return words.map((word) => `'${word}':*`).join(' & ');
}
