import type { Block } from './block';
import { decompressedRtf } from './compressed-rtf';
import { compoundFileOf } from './test/compound-file-of';
import { encodedAs } from './test/encoded-as';
import { outlookMessage } from './test/outlook-message';
import { parseMsg } from './parse-msg';

const textsOf = (blocks: Block[]) => blocks.map(({ text }) => text);
const subject = { '0037': 'Timetable' };

/** Compressed RTF without references: each control byte says that eight plain bytes follow. */
function compressed(rtf: string): Buffer {
  const parts = rtf.match(/[^]{1,8}/g)!.map((eight) => Buffer.from(`\0${eight}`, 'latin1'));
  const head = Buffer.alloc(16);
  head.writeUInt32LE(rtf.length, 4);
  head.write('LZFu', 8);
  return Buffer.concat([head, ...parts]);
}

it('reads the same header as of a mail', async () => {
  const bytes = outlookMessage({
    properties: {
      ...subject,
      '0042': 'Fährbureau',
      '5d02': 'ferry@example.org',
      '0039': new Date('2025-02-28T08:11:02Z'),
      '1000': 'The ferry leaves at seven.',
    },
    recipients: [
      { '3001': 'Ann Sailor', '39fe': 'ann@example.net', '0c15': 1 },
      { '3001': 'Crew, all', '3003': '/O=EXAMPLE/CN=CREW', '0c15': 2 },
      { '3001': 'Secret', '39fe': 'secret@example.net', '0c15': 3 },
    ],
  });

  const blocks = await parseMsg(bytes);

  expect(blocks[0]).toEqual({ type: 'title', level: 1, text: 'Timetable' });
  expect(textsOf(blocks).slice(1)).toEqual([
    'From: Fährbureau <ferry@example.org>\nTo: Ann Sailor <ann@example.net>\nCc: Crew, all\nDate: 2025-02-28T08:11:02.000Z',
    'The ferry leaves at seven.',
  ]);
});

it('reads the body from HTML in its code page, rather than from the plain text', async () => {
  const html = encodedAs(
    'windows-1251',
    '<p>Паром отходит в семь.</p><table><tr><td>Пн</td><td>Север</td></tr></table>',
  );

  const blocks = await parseMsg(
    outlookMessage({ properties: { ...subject, '1000': 'Паром', '1013': html, '3fde': 1251 } }),
  );

  expect(textsOf(blocks)).toEqual(['Timetable', 'Паром отходит в семь.', 'Пн | Север']);
});

it('reads texts of one byte in the code page of the message', async () => {
  const text = encodedAs('windows-1251', 'Причал закрыт');

  const blocks = await parseMsg(outlookMessage({ properties: { '0037': [text], '1000': [text], '3ffd': 1251 } }));

  expect(textsOf(blocks)).toEqual(['Причал закрыт', 'Причал закрыт']);
});

it('reads the page within compressed RTF', async () => {
  const rtf = String.raw`{\rtf1\ansi\ansicpg1252\fromhtml1 \deff0{\fonttbl{\f0\fswiss Arial;}}{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 F\'e4hre & Caf\u233?{\*\htmltag84 &amp;}{\*\htmltag72 </p>}\htmlrtf\par}\htmlrtf0 {\*\htmltag64 <ul><li>}Pier 3{\*\htmltag72 </li></ul>}}`;

  const blocks = await parseMsg(outlookMessage({ properties: { ...subject, '1009': compressed(rtf) } }));

  expect(textsOf(blocks)).toEqual(['Timetable', 'Fähre & Café&', '- Pier 3']);
});

it('reads RTF without a page, and the plain text in place of RTF made of it', async () => {
  const own = compressed(String.raw`{\rtf1\ansi Pier \b three\b0  is closed.\par}`);
  const ofText = compressed(String.raw`{\rtf1\ansi\fromtext Pier\par}`);

  const fromRtf = await parseMsg(outlookMessage({ properties: { ...subject, '1009': own } }));
  const fromText = await parseMsg(outlookMessage({ properties: { ...subject, '1000': 'Pier', '1009': ofText } }));

  expect(textsOf(fromRtf)).toEqual(['Timetable', 'Pier three is closed.']);
  expect(textsOf(fromText)).toEqual(['Timetable', 'Pier']);
});

it('expands references in compressed RTF', () => {
  // Example of MS-OXRTFCP, 4.1.1.
  const bytes = Buffer.from(
    '2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0',
    'hex',
  );

  expect(decompressedRtf(bytes).toString()).toBe('{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n');
});

it('reads attached texts and messages, and names the other attachments', async () => {
  const bytes = outlookMessage({
    properties: { ...subject, '1000': 'See below.' },
    attachments: [
      { '3707': 'notes.txt', '3701': Buffer.from('Pier five is open.') },
      { '3707': 'plan – März.pdf', '3701': Buffer.from('%PDF-1.4') },
      { '3707': 'logo.png', '370e': 'image/png', '3714': 4, '3701': Buffer.from('x') },
      { message: { properties: { '0037': 'Inner', '1000': 'The inner text.' } } },
      { '3707': 'old.msg', '3701': outlookMessage({ properties: { '0037': 'Attached', '1000': 'As a file.' } }) },
    ],
  });

  const texts = textsOf(await parseMsg(bytes));

  expect(texts).toEqual([
    'Timetable',
    'See below.',
    'notes.txt',
    'Pier five is open.',
    'Inner',
    'The inner text.',
    'Attached',
    'As a file.',
    expect.stringContaining('- plan – März.pdf'),
  ]);
  expect(texts.at(-1)).not.toContain('logo.png');
});

it('keeps line ends of a name within its header line', async () => {
  const bytes = outlookMessage({
    properties: { '0037': 'a\r\nBcc: x@example.org', '0042': 'b\r\n\r\n<p>', '1000': 'text' },
    attachments: [{ '3707': 'c\r\nX: y.pdf', '3701': Buffer.from('x') }],
  });

  const blocks = await parseMsg(bytes);

  expect(blocks.find(({ text }) => text === 'text')).toBeDefined();
  expect(blocks).toHaveLength(4);
});

it('refuses a compound file that is no message', async () => {
  await expect(parseMsg(compoundFileOf({ Other: Buffer.from('x') }))).rejects.toThrow(
    /not the declared Outlook message/,
  );
});
