import fc from 'fast-check';
import { UnreadableDocument } from './block';
import { charsetInPage, decodeText } from './decode-text';
import { encodedAs } from './test/encoded-as';

const texts = {
  German: 'Der Bäcker verkauft süße Brötchen, außer montags. Größere Torten müssen früh bestellt werden.',
  French: 'La boulangère a déjà préparé les gâteaux de Noël, là où les élèves achètent leur goûter.',
  Italian: 'Il fornaio aprirà venerdì perché sabato è già festa in città. Così si può comprare più pane.',
  Spanish: 'El panadero abrió temprano. ¿Quién compró mañana? El niño pidió más piñones según el año.',
  Danish: 'Bageren åbner klokken seks. Større kager må bestilles før påske, også på lørdage.',
  Polish: 'Piekarz otwiera o szóstej. Większe ciasta trzeba zamówić wcześniej, gdyż później będzie już święto.',
  Czech: 'Pekař otevírá v šest hodin. Větší dorty je třeba objednat dříve, protože později už bude svátek.',
  Hungarian: 'A pék hatkor nyit. A nagyobb tortákat előbb kell megrendelni, mert később már ünnep lesz, és hűvös idő.',
  Romanian: 'Brutarul deschide la ora şase. Prăjiturile mari trebuie comandate mâine dimineaţă, căci vine sărbătoarea.',
  Turkish: 'Fırıncı saat altıda açıyor. Büyük pastalar önceden sipariş edilmeli, çünkü öğleden sonra şenlik var.',
  Lithuanian: 'Kepėjas atidaro šeštą valandą. Didesnius pyragus reikia užsakyti anksčiau, nes vėliau jau bus šventė.',
  Latvian: 'Maiznieks atver sešos. Lielākas kūkas jāpasūta agrāk, jo vēlāk jau būs svētki, un ļaudis dziedās.',
  Estonian:
    'Pagar avab kell kuus. Suuremad koogid tuleb tellida varem, sest hiljem on juba püha. Žürii sööb šokolaadi õues.',
  Russian: 'Пекарь открывает в шесть часов. Большие торты нужно заказывать раньше, потому что потом будет праздник.',
  Ukrainian: 'Пекар відчиняє о шостій. Великі торти треба замовляти раніше, бо пізніше вже буде свято її міста.',
  Bulgarian: 'Пекарят отваря в шест часа. По-големите торти трябва да се поръчат по-рано, защото после идва празникът.',
  Greek: 'Ο φούρναρης ανοίγει στις έξι. Οι μεγάλες τούρτες πρέπει να παραγγέλνονται νωρίτερα, γιατί μετά είναι γιορτή.',
  Hebrew: 'האופה פותח בשעה שש. עוגות גדולות יש להזמין מראש כי אחר כך יהיה חג.',
  Arabic: 'يفتح الخباز في الساعة السادسة. يجب طلب الكعكات الكبيرة مبكرا لأن العيد قريب.',
  Thai: 'ร้านขนมปังเปิดหกโมงเช้า ควรสั่งเค้กก้อนใหญ่ล่วงหน้าเพราะเป็นวันหยุด',
  Chinese: '面包师六点开门。大蛋糕要提前订购，因为之后就是节日。',
  Taiwanese: '麵包師六點開門。大蛋糕要提前訂購，因為之後就是節日。',
  Japanese: 'パン屋は六時に開きます。大きなケーキは早めに注文してください。その後は祭りです。',
  Korean: '빵집은 여섯 시에 엽니다. 큰 케이크는 미리 주문해야 합니다. 그 뒤에는 명절입니다.',
};
type Language = keyof typeof texts;

const western: Language[] = ['German', 'French', 'Italian', 'Spanish', 'Danish'];
const eastern: Language[] = ['Polish', 'Czech', 'Hungarian', 'Romanian'];
const baltic: Language[] = ['Lithuanian', 'Latvian', 'Estonian'];
const languagesOf: Record<string, Language[]> = {
  'windows-1252': western,
  macintosh: western,
  'windows-1250': eastern,
  'iso-8859-2': eastern,
  'windows-1254': ['Turkish'],
  'windows-1257': baltic,
  'iso-8859-13': baltic,
  'iso-8859-4': baltic,
  'windows-1251': ['Russian', 'Ukrainian', 'Bulgarian'],
  'x-mac-cyrillic': ['Russian', 'Ukrainian', 'Bulgarian'],
  'iso-8859-5': ['Russian', 'Bulgarian'],
  ibm866: ['Russian', 'Bulgarian'],
  'koi8-r': ['Russian'],
  'koi8-u': ['Ukrainian'],
  'windows-1253': ['Greek'],
  'iso-8859-7': ['Greek'],
  'windows-1255': ['Hebrew'],
  'iso-8859-8': ['Hebrew'],
  'windows-1256': ['Arabic'],
  'iso-8859-6': ['Arabic'],
  'windows-874': ['Thai'],
  gb18030: ['Chinese', 'Taiwanese'],
  big5: ['Taiwanese'],
  'euc-kr': ['Korean'],
  'euc-jp': ['Japanese'],
  shift_jis: ['Japanese'],
  'iso-2022-jp': ['Japanese'],
  'utf-16le': ['German', 'Russian', 'Greek', 'Arabic', 'Thai', 'Chinese', 'Japanese', 'Korean'],
  'utf-16be': ['German', 'Russian', 'Greek', 'Arabic', 'Thai', 'Chinese', 'Japanese', 'Korean'],
  'utf-32le': ['German', 'Russian', 'Chinese'],
  'utf-32be': ['German', 'Russian', 'Chinese'],
};
const encodings = Object.entries(languagesOf).map(([encoding, languages]) => ({ encoding, languages }));
const english = 'The baker sells bread and rolls on every day of the week but Monday.\n';

it.each(encodings)('detects $encoding in two sentences', ({ encoding, languages }) => {
  for (const language of languages) expect(decodeText(encodedAs(encoding, texts[language]))).toBe(texts[language]);
});

it.each(encodings)('detects $encoding in a text that is mostly ASCII', ({ encoding, languages }) => {
  for (const language of languages) {
    const [name, ...words] = texts[language].split(/[ 。]/);
    const rows = Array.from({ length: 200 }, (_, i) =>
      i % 40 === 17 ? `${i};${words.join(' ')};${name}` : `${i};${english}`,
    );
    const text = rows.join('\n');

    expect(decodeText(encodedAs(encoding, text))).toBe(text);
  }
});

it.each(['Müller', 'café', 'naïve', '“best”', '€ 12', 'ß', '20 °C'])('keeps a single %s in English text', (word) => {
  const text = `${english.repeat(40)}${word}\n${english.repeat(40)}`;

  expect(decodeText(encodedAs('windows-1252', text))).toBe(text);
});

it('reads valid UTF-8 as UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
      const plain = `${text.replace(/[\p{Cc}\uFFFD\uFEFF]/gu, '')} ${english}`;

      expect(decodeText(Buffer.from(plain))).toBe(plain);
    }),
  );
});

it.each(Object.entries(texts))('reads %s in UTF-8, whatever is declared', (_, text) => {
  for (const charset of [undefined, 'windows-1252', 'shift_jis', 'iso-2022-jp', 'utf-16', 'unknown-8bit']) {
    expect(decodeText(Buffer.from(text), charset)).toBe(text);
  }
});

it('follows a declared charset that makes sense, and no other', () => {
  const bytes = encodedAs('windows-1254', 'dağ');

  expect(decodeText(bytes, 'windows-1254')).toBe('dağ');
  expect(decodeText(bytes, 'ISO-8859-1')).toBe('dað');
  expect(decodeText(encodedAs('windows-1251', texts.Russian), 'iso-8859-1')).toBe(texts.Russian);
  expect(decodeText(encodedAs('euc-jp', texts.Japanese), 'shift_jis')).toBe(texts.Japanese);
});

it.each(['cp437', 'cp850', 'cp852'])('follows the declared DOS code page %s', (charset) => {
  expect(decodeText(Buffer.from([0x4d, 0x81, 0x6c, 0x6c, 0x65, 0x72]), charset)).toBe('Müller');
});

it('finds the charset of a page behind scripts and comments', () => {
  const meta = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">';
  const page = `<html><head><!-- <meta charset="big5"> --><style>${'a{} '.repeat(10_000)}</style>${meta}</head><p>да</p>`;

  expect(charsetInPage(encodedAs('windows-1251', page))).toBe('windows-1251');
});

it.each<[string, string]>([
  ['windows-1252', Buffer.from(texts.German).toString('latin1')],
  ['windows-1252, with punctuation', new TextDecoder('windows-1252').decode(Buffer.from('“Brot” – „süß“, it’s 5 €'))],
  ['windows-1251', new TextDecoder('windows-1251').decode(Buffer.from(texts.Russian))],
  ['macintosh', new TextDecoder('macintosh').decode(Buffer.from(texts.German))],
  ['ASCII with replacement characters', texts.French.replace(/[^\0-\x7f]/g, '\uFFFD')],
])('refuses UTF-8 that was decoded as %s and saved as UTF-8 again', (_, text) => {
  expect(() => decodeText(Buffer.from(text))).toThrow(/looks garbled/);
});

it('keeps a text that shows a few garbled words', () => {
  const text = `${english.repeat(5)}Wrong decoding shows MÃ¼ller in place of Müller.`;

  expect(decodeText(Buffer.from(text))).toBe(text);
});

it.each<[string, Buffer]>([
  ['random bytes', Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * i * 31 + i * 17 + (i >> 3)) % 256))],
  ['one byte again and again', Buffer.alloc(64, 0x81)],
  ['NULs in text', Buffer.from(`${english}${'\0'.repeat(20)}`)],
  ['samples of sound', Buffer.from(Int16Array.from({ length: 2_000 }, (_, i) => 9_000 * Math.sin(i / 9)).buffer)],
  ['numbers of 32 bits', Buffer.from(Int32Array.from({ length: 1_000 }, (_, i) => i * 31 - 4_000).buffer)],
])('refuses %s', (_, bytes) => {
  expect(() => decodeText(bytes)).toThrow(UnreadableDocument);
});

it('decodes or refuses damaged text in each encoding, in a time that is linear', () => {
  const damaged = fc.record({
    encoding: fc.constantFrom(...encodings.map(({ encoding }) => encoding)),
    at: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
    cut: fc.nat(6),
  });
  fc.assert(
    fc.property(damaged, ({ encoding, at, cut }) => {
      const bytes = encodedAs(encoding, texts[languagesOf[encoding]![0]!]);
      for (const [place, byte] of at) bytes[place % bytes.length] = byte;
      try {
        expect(decodeText(bytes.subarray(0, bytes.length - cut))).not.toBe('');
      } catch (error) {
        expect(error).toBeInstanceOf(UnreadableDocument);
      }
    }),
    { numRuns: 150 },
  );
});
