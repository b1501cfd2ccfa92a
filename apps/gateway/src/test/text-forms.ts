import type { Rule } from './contract-fields';

/** Texts that match a pattern, and values that do not. */
interface Form {
  /** A text of this length, or the shortest one. */
  text: (length: number) => string;
  fits: string[];
  others: unknown[];
  words: string;
}

/** Builds a form from its shortest text and the characters that extend it, at its end or before it. */
const form = (
  words: string,
  [shortest, filler = 'x', at = shortest.length]: [shortest: string, filler?: string, at?: number],
  others: unknown[],
  fits: string[] = [],
): Form => ({
  text: (length) => shortest.slice(0, at) + filler.repeat(Math.max(0, length - shortest.length)) + shortest.slice(at),
  fits,
  others,
  words,
});

const seconds: [string, string, number] = ['2026-01-31T12:00:00.0Z', '0', -1];
const isoTime = form('must be a valid ISO 8601 date string', seconds, ['2026-13-01T00:00:00Z', '2026-01-31T23:59:60Z']);
const strictTime = { ...isoTime, others: [...isoTime.others, '2026-02-30T12:00:00Z'] };
const lettersTo = (length: number) => 'x'.repeat(length);

/** By rule name or by pattern. A changed pattern needs other texts here. */
const forms: Record<string, Form> = {
  isEmail: form('must be an email', ['a@example.com'], ['a', 'a@b', 'a b@example.com', 7]),
  isUrl: form(
    'must be a URL address',
    ['https://example.com/'],
    ['no url', 'ftp://example.com/', 7],
    ['http://localhost:80/'],
  ),
  isUri: form('must be a URI such as', ['https://example.com/'], ['a picture', 7], ['data:image/png;base64,AA==']),
  isUuid: form('must be a UUID', ['00000000-0000-4000-8000-000000000000'], ['00000000-0000-4000-8000-00000000000', 7]),
  isIso8601: isoTime,
  'isIso8601 strict': strictTime,
  isDateString: isoTime,
  isCronExpression: form(
    'must be a cron expression',
    ['* * * * *', ' '],
    ['daily', '60 * * * *', 7],
    ['0 */5 * * * MON'],
  ),
  isNoTableId: form('must not have the form of a table id', ['x'], [`table_${'0'.repeat(26)}`]),
  [String(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *;[ -~]*)?$/)]: form(
    'must be a media type such as text/plain',
    ['a/b', 'b'],
    ['text', 'text/plain\r\nx: y', 'text/'],
    ['application/vnd.oasis.opendocument.text', 'text/plain; charset=utf-8'],
  ),
  [String(/^[\x21-\x7e]+$/)]: form('must be the name of an action', ['x'], ['a b', 'ä', 'a\n'], ['alias:name#!~']),
  [String(/^[^/\\]{1,200}$/)]: form(
    'must be 1 to 200 characters without / and \\',
    ['x'],
    ['', lettersTo(201), 'a/b', 'a\\b', 7],
    [lettersTo(200), 'Größe 1.pdf'],
  ),
  [String(/^[\x21-\x7e]{1,4000}$/)]: form(
    'must have 1 to 4000 printable ASCII characters',
    ['x'],
    ['', lettersTo(4_001), 'a b', 'ä', 'a\n'],
    [lettersTo(4_000), 'sk-!~'],
  ),
  [String(/^\S{1,200}$/)]: form(
    'must match',
    ['x'],
    ['', lettersTo(201), 'a b', 'a\n'],
    [lettersTo(200), 'Qwen/Qwen3-8B:free'],
  ),
  [String(/^[1-9]\d{0,3}[x:][1-9]\d{0,3}$/)]: form(
    'must be pixels such as 1024x1024, or a ratio such as 16:9',
    ['1x1'],
    ['', '0x1', '1024', '10000x1', '16:9 '],
    ['9999x9999', '16:9'],
  ),
  [String(/^\w{1,50}$/)]: form('must be 1 to 50 letters', ['x'], ['', lettersTo(51), 'a-b'], [lettersTo(50)]),
  // Ids given by chat clients.
  [String(/^[a-zA-Z0-9_\-\\/]{1,70}$/)]: form(
    'must be 1 to 70 characters',
    ['x'],
    ['', lettersTo(71), 'a b', 'a+b', 'ä', 'a\n', 7],
    [lettersTo(70), 'aZ09_-\\/'],
  ),
  [String(/^#[0-9a-f]{6}$/i)]: form('must be a color', ['#1864ab'], ['red', '#fff', '#1864abc', 7], ['#1864AB']),
  [String(/^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$/)]: form(
    'must be a list of origins',
    ['https://example.com', 'x'],
    ['example.com', 'https://example.com/', 'https://EXAMPLE.com', "https://a; script-src 'none'", 7],
    ['http://localhost:3000'],
  ),
  // Handles, for look-up and for registration.
  [String(/^[0-9a-z-_]+$/)]: form('must consist of lower-case letters', ['x'], ['Tea', 'a b'], ['0a-_']),
  [String(/^[0-9a-z]([a-z0-9-_]*[0-9a-z])?$/)]: form(
    'must consist of lower-case letters',
    ['x'],
    ['Tea', '-a', 'a_'],
    ['0-_a'],
  ),
  [String(/^\d{4}-\d\d-\d\dT[^+-]*(Z|[+-]\d\d:?\d\d)$/)]: form('', seconds, ['2026-01-31T12:00:00', '2026-01-31']),
  [String(/^[1-9]\d{3}-.*T.*(Z|[+-]\d\d:\d\d)$/)]: form('', seconds, ['2026-01-31T12:00:00', '0026-01-31T12:00:00Z']),
  [String(/(Z|[+-]\d\d:?\d\d)$/)]: form('', seconds, ['2026-01-31T12:00:00.00000']),
};

export function formOf({ name, constraints }: Rule): Form | undefined {
  const isStrict = name === 'isIso8601' && (constraints[0] as { strict?: boolean } | undefined)?.strict;
  return forms[name === 'matches' ? String(constraints[0]) : isStrict ? `${name} strict` : name];
}

interface Names {
  fits: string[];
  others: string[];
}

const names: Record<string, Names> = {
  [String(/^.{1,200}$/s)]: { fits: [lettersTo(200), 'a\nb', '__proto__'], others: ['', lettersTo(201)] },
  [String(/^.{0,200}$/s)]: { fits: ['', lettersTo(200)], others: [lettersTo(201)] },
  [String(/^(auto|best|fast|vision|transcription|image|speech)$/)]: {
    fits: ['auto', 'best', 'fast', 'vision', 'transcription', 'image', 'speech'],
    others: ['', 'Auto', 'auto ', 'cheap'],
  },
  [String(/^[^#:]{1,200}$/)]: { fits: [lettersTo(200)], others: ['', lettersTo(201), 'a#b', 'a:b'] },
  [String(/^[A-Z][A-Z0-9_]{0,199}$/)]: { fits: ['A_0', 'A'.repeat(200)], others: ['key', '1A', 'A'.repeat(201)] },
};

export function namesOf(pattern: RegExp): Names {
  const found = names[String(pattern)];
  if (!found) throw new Error(`No names are known that match ${String(pattern)}. Name some in ${__filename}.`);
  return found;
}
