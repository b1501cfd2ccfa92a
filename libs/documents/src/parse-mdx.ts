import { type Block } from './block';
import { parseMarkdown } from './parse-markdown';

/** MDX: Markdown without imports, exports, JSX tags and expressions in braces. Text between tags is kept. */
export function parseMdx(source: string): Block[] {
  return parseMarkdown(source.length > longestMdx ? source : withoutJsx(source));
}

/** Character limit for MDX; longer documents are read as Markdown. */
const longestMdx = 2_000_000;
/**
 * Maximum length of a tag or expression; longer ones are kept as text. After 100 unclosed ones all others are kept as
 * well.
 */
const longestJsx = 10_000;
const mostUnended = 100;

const fence = /^ {0,3}(`{3,}|~{3,})/;
const tagStart = /<\/?[A-Za-z][\w.:-]*(?=[\s/>{])|<\/?>/y;
const moduleStart =
  /^(?:import\s*(?:['"{*]|[\w$]+\s*(?:,|from\b))|export\s+(?:[{*]|(?:default|const|let|var|function|async|class)\b))/;
const inlineCode = /(`+)(?!`)[^\n]*?(?<!`)\1(?!`)/y;

function withoutJsx(source: string): string {
  const kept: string[] = [];
  let text: string[] = [];
  let closing: RegExp | undefined;
  let inModule = false;
  const endText = () => {
    if (text.length > 0) kept.push(dropJsx(text.join('\n')));
    text = [];
  };

  for (const line of source.split('\n')) {
    const opening = fence.exec(line)?.[1];
    if (closing) {
      kept.push(line);
      if (closing.test(line)) closing = undefined;
    } else if (opening) {
      endText();
      kept.push(line);
      closing = new RegExp(`^ {0,3}${opening[0]}{${opening.length},}\\s*$`);
    } else {
      const isBlank = line.trim() === '';
      const before = text.at(-1);
      if (isBlank) inModule = false;
      else if (moduleStart.test(line) && (before === undefined || before.trim() === '')) inModule = true;
      text.push(inModule ? '' : line);
    }
  }
  endText();
  return kept.join('\n');
}

function dropJsx(text: string): string {
  let kept = '';
  let unended = 0;
  for (let at = 0; at < text.length;) {
    const character = text[at]!;
    inlineCode.lastIndex = at;
    tagStart.lastIndex = at;
    const code = character === '`' ? inlineCode.exec(text)?.[0] : undefined;
    if (code) {
      kept += code;
      at += code.length;
    } else if (character === '\\') {
      kept += text.slice(at, at + 2);
      at += 2;
    } else if (unended < mostUnended && (character === '{' || (character === '<' && tagStart.test(text)))) {
      const end = endOf(text, at, character === '{' ? '}' : '>');
      if (end === undefined) {
        unended++;
        kept += character;
      }
      at = end ?? at + 1;
    } else {
      kept += character;
      at++;
    }
  }
  return kept;
}

/**
 * Index after the tag or expression that begins at `start`, skipping strings and nested braces; undefined when
 * unclosed.
 */
function endOf(text: string, start: number, closing: '}' | '>'): number | undefined {
  let depth = closing === '>' ? 1 : 0;
  let quote: string | undefined;
  const last = Math.min(text.length, start + longestJsx);
  for (let i = start; i < last; i++) {
    const character = text[i]!;
    if (quote) {
      if (character === '\\') i++;
      else if (character === quote) quote = undefined;
    } else if (character === '"' || character === '`' || (character === "'" && !/\w/.test(text[i - 1] ?? ''))) {
      quote = character;
    } else if (character === '{') depth++;
    else if (character === '}') depth--;
    if (!quote && character === closing && depth === (closing === '>' ? 1 : 0)) return i + 1;
  }
  return undefined;
}
