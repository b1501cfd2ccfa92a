const romans: [number, string][] = [
  [1000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
];
const latin = 'abcdefghijklmnopqrstuvwxyz';
const russian = 'абвгдежзиклмнопрстуфхцчшщэюя';
const chinese = ['', ...'一二三四五六七八九'];
const cardinals =
  'One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve Thirteen Fourteen Fifteen Sixteen Seventeen Eighteen Nineteen Twenty'.split(
    ' ',
  );
const ordinals =
  'First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh Twelfth Thirteenth Fourteenth Fifteenth Sixteenth Seventeenth Eighteenth Nineteenth Twentieth'.split(
    ' ',
  );
const suffixes: Record<string, string> = { one: 'st', two: 'nd', few: 'rd' };
const ordinalRules = new Intl.PluralRules('en', { type: 'ordinal' });
/** Letters repeat after the last one ("aa"), which a hostile number must not do without end. */
const mostRepetitions = 20;

/** Number formats of lists by the names that Word gives them. */
const formats = new Map<string, (number: number) => string | undefined>([
  ['decimalZero', (number) => String(number).padStart(2, '0')],
  ['lowerRoman', roman],
  ['upperRoman', (number) => roman(number)?.toUpperCase()],
  ['lowerLetter', (number) => letter(number, latin)],
  ['upperLetter', (number) => letter(number, latin)?.toUpperCase()],
  ['russianLower', (number) => letter(number, russian)],
  ['russianUpper', (number) => letter(number, russian)?.toUpperCase()],
  ['ordinal', (number) => `${number}${suffixes[ordinalRules.select(number)] ?? 'th'}`],
  ['cardinalText', (number) => cardinals[number - 1]],
  ['ordinalText', (number) => ordinals[number - 1]],
  [
    'decimalEnclosedCircle',
    (number) => (number >= 1 && number <= 20 ? String.fromCharCode(0x245f + number) : undefined),
  ],
  ['none', () => ''],
]);
const chineseFormats =
  /^(?:(?:chinese|japanese|taiwanese|korean)Counting|ideographDigital|chineseLegalSimplified|ideographTraditional)/;

/** Number of a list item as Word prints it; decimal for formats that are not known. */
export function listNumber(number: number, format: string): string {
  const text = chineseFormats.test(format) ? counted(number) : formats.get(format)?.(number);
  return text ?? String(number);
}

function roman(number: number): string | undefined {
  if (number < 1 || number > 3999) return undefined;
  let text = '';
  for (const [value, letters] of romans) for (; number >= value; number -= value) text += letters;
  return text;
}

function letter(number: number, alphabet: string): string | undefined {
  const times = Math.ceil(number / alphabet.length);
  if (number < 1 || times > mostRepetitions) return undefined;
  return alphabet[(number - 1) % alphabet.length]!.repeat(times);
}

function counted(number: number): string | undefined {
  if (number < 1 || number > 99) return undefined;
  const tens = Math.floor(number / 10);
  return `${tens > 1 ? chinese[tens] : ''}${tens > 0 ? '十' : ''}${chinese[number % 10]}`;
}
