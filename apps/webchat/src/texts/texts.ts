import { de } from './de';
import { en } from './en';
import { es } from './es';
import { fr } from './fr';
import type { Texts } from './names';

const languages: Record<string, Texts> = { en, de, fr, es };

/** Texts in the first language that there is, with the changes of the page. */
export function textsFor(wanted: readonly string[], changes: Partial<Texts> = {}): Texts {
  const known = wanted.map((language) => language.toLowerCase().split('-')[0]!).find((name) => name in languages);
  return { ...languages[known ?? 'en']!, ...changes };
}

export function filled(text: string, values: Record<string, string | number>): string {
  return text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
}
