import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';

/** Longer texts are shown as they are: their formatting would block the page. */
const maxCharacters = 10_000;
const options = { extensions: [gfm()], htmlExtensions: [gfmHtml()] };

/**
 * HTML of a Markdown text, in which HTML is text and links lead to the web or to an e-mail address only. Undefined when
 * the text is too long.
 */
export function htmlOf(markdown: string): string | undefined {
  return markdown.length > maxCharacters ? undefined : micromark(markdown, options);
}
