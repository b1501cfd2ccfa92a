import { decodeCodePage } from './code-page';

const token = /([{}])|\\([a-z]+)(-?\d+)? ?|\\'([0-9a-f]{2})|\\([^])|([^\\{}\r\n]+)/gi;
const skipped = /^(?:fonttbl|colortbl|stylesheet|info|pntext|generator)$/;
const characters: { [word: string]: string } = {
  par: '\n',
  line: '\n',
  tab: '\t',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
  endash: '–',
  emdash: '—',
};

interface Group {
  /** Text of the page, a tag of it, or neither. */
  kind: 'text' | 'tag' | 'skipped';
  isRtf: boolean;
  fallback: number;
}

/** The page that Outlook has put into the RTF of a message (MS-OXRTFEX); undefined for other RTF. */
export function htmlInRtf(bytes: Buffer): string | undefined {
  const source = bytes.toString('latin1');
  if (!/^[^]{0,1000}?\\fromhtml1/.test(source)) return undefined;
  const parts: string[] = [];
  const groups: Group[] = [];
  let group: Group = { kind: 'text', isRtf: false, fallback: 1 };
  let page = 1252;
  let pending: string[] = [];
  let [toSkip, isOptional] = [0, false];
  const write = (text: string) => {
    if (group.kind === 'skipped' || group.isRtf) return;
    parts.push(group.kind === 'tag' ? text : text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`));
  };
  const flush = () => {
    if (pending.length > 0) write(decodeCodePage(Buffer.from(pending.join(''), 'latin1'), page));
    pending = [];
  };
  const add = (text: string) => {
    const skip = Math.min(toSkip, text.length);
    toSkip -= skip;
    if (skip < text.length) pending.push(text.slice(skip));
  };
  for (const [, brace, word, parameter, hex, symbol, text] of source.matchAll(token)) {
    if (hex) add(String.fromCharCode(Number.parseInt(hex, 16)));
    else if (text) add(text);
    else if (symbol && '\\{}'.includes(symbol)) add(symbol);
    else flush();
    if (brace === '{') groups.push({ ...group });
    else if (brace === '}') group = groups.pop() ?? group;
    if (brace) toSkip = 0;
    if (symbol === '*') isOptional = true;
    else if (symbol === '~') write('\u00a0');
    if (!word) continue;
    const value = parameter === undefined ? undefined : Number(parameter);
    if (word === 'htmltag') group.kind = 'tag';
    else if (word === 'htmlrtf') group.isRtf = value !== 0;
    else if (word === 'ansicpg') page = value || page;
    else if (word === 'uc') group.fallback = Math.max(0, value ?? 1);
    else if (word === 'u') {
      write(String.fromCharCode((value ?? 0) & 0xffff));
      toSkip = group.fallback;
    } else if (isOptional || skipped.test(word)) group.kind = 'skipped';
    else if (characters[word]) write(characters[word]);
    isOptional = false;
  }
  flush();
  return parts.join('');
}
