import fc from 'fast-check';
import { type Block, UnreadableDocument } from './block';
import { mailText, parseEml } from './parse-eml';
import { encodedAs } from './test/encoded-as';

const alternative = (html: string, text: string) =>
  Buffer.from(
    [
      'Subject: News\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=x\n',
      `--x\nContent-Type: text/plain\n\n${text}\n`,
      `--x\nContent-Type: text/html\n\n${html}\n`,
      '--x--',
    ].join('\n'),
  );
const textsOf = (blocks: Block[]) => blocks.map((block) => block.text);
const read = async (html: string, text: string) => textsOf(await parseEml(alternative(html, text)));

interface Part {
  type: string;
  content: Buffer | string;
  encoding?: '8bit' | 'base64' | 'quoted-printable';
  disposition?: string;
}

function part({ type, content, encoding = '8bit', disposition }: Part): Buffer {
  const head = [`Content-Type: ${type}`, `Content-Transfer-Encoding: ${encoding}`];
  if (disposition) head.push(`Content-Disposition: ${disposition}`);
  return Buffer.concat([
    Buffer.from(`${head.join('\r\n')}\r\n\r\n`),
    transferred(Buffer.from(content as Buffer), encoding),
  ]);
}

function transferred(bytes: Buffer, encoding: Part['encoding']): Buffer {
  if (encoding === 'base64') return Buffer.from(bytes.toString('base64').replace(/.{76}/g, '$&\r\n'));
  if (encoding === '8bit') return bytes;
  const quoted = Array.from(bytes, (byte) =>
    byte === 0x3d || byte >= 0x80 ? `=${byte.toString(16).toUpperCase().padStart(2, '0')}` : String.fromCharCode(byte),
  );
  return Buffer.from(quoted.join(''));
}

function message(subject: string, ...parts: Part[]): Buffer {
  const boundary = `b-${subject.replace(/\W/g, '')}`;
  return Buffer.concat([
    Buffer.from(`Subject: ${subject}\r\nContent-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n`),
    ...parts.flatMap((one) => [Buffer.from(`--${boundary}\r\n`), part(one), Buffer.from('\r\n')]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
}

const attached = (name: string) => `attachment; filename="${name}"`;

describe('the body', () => {
  it('uses the plain text when the HTML says far less', async () => {
    const text = 'The ferry leaves at nine. '.repeat(5).trim();

    expect(await read('<p>See the plain text.</p>', text)).toEqual(['News', text]);
    expect(await read('<p hidden>Nothing</p>', text)).toEqual(['News', text]);
  });

  it('uses the HTML when the plain text is longer only by link addresses', async () => {
    const text = `The ferry leaves at nine: https://example.com/${'x'.repeat(500)}`;

    expect(await read('<h2>The ferry leaves at nine</h2>', text)).toEqual(['News', 'The ferry leaves at nine']);
  });

  it('joins the soft line breaks of flowed text', async () => {
    const content = 'One line \r\nin two.\r\nAnother.';

    expect(textsOf(await parseEml(message('F', { type: 'text/plain; format=flowed', content })))).toEqual([
      'F',
      'One line in two.\nAnother.',
    ]);
  });

  it('reads the same texts without structure', async () => {
    const mail = message('M', { type: 'text/html', content: '<h2>Menu</h2><p>Soup</p>' });

    expect(textsOf(await mailText(mail)).join('\n')).toBe('M\nMenu\nSoup');
  });
});

describe('encodings', () => {
  const text = '“Tea” – it’s 5 € at Müller’s café';

  it.each<[string, Part['encoding']]>([
    ['text/plain; charset=windows-1252', 'quoted-printable'],
    ['text/plain; charset=windows-1252', 'base64'],
    ['text/plain; charset=windows-1252', '8bit'],
    ['text/plain; charset=iso-8859-1', 'quoted-printable'],
    ['text/plain; charset=us-ascii', 'quoted-printable'],
    ['text/plain; charset=x-unknown', 'base64'],
    ['text/plain', '8bit'],
    ['text/html', 'base64'],
  ])('reads windows-1252 sent as %s in %s', async (type, encoding) => {
    const content = encodedAs('windows-1252', text);

    expect(textsOf(await parseEml(message('W', { type, content, encoding })))).toEqual(['W', text]);
  });

  it.each(['koi8-r', 'windows-1251', 'utf-16le', 'iso-8859-5'])('reads a part in %s', async (charset) => {
    const russian = 'Паром уходит в девять часов утра, кроме воскресенья.';
    const content = encodedAs(charset, russian);

    for (const type of [`text/plain; charset=${charset}`, 'text/plain']) {
      expect(textsOf(await parseEml(message('R', { type, content, encoding: 'base64' })))).toEqual(['R', russian]);
    }
  });

  it.each(['utf-16le', 'utf-16be', 'utf-32le'])(
    'reads a message that is %s as a whole, with a mark or not',
    async (encoding) => {
      const mail =
        'From: ann@example.org\r\nSubject: Tides\r\nContent-Type: text/plain; charset=utf-16\r\n\r\nThe tide turns – at noon.\r\n';

      for (const mark of ['\uFEFF', '']) {
        expect(textsOf(await parseEml(encodedAs(encoding, mark + mail)))).toEqual([
          'Tides',
          'From: ann@example.org',
          'The tide turns – at noon.',
        ]);
      }
    },
  );

  it('reads header lines that are encoded by no rule', async () => {
    const mail = 'Subject: Новое расписание парома на лето\r\n\r\nSee below.';

    expect(textsOf(await parseEml(encodedAs('koi8-r', mail)))).toEqual([
      'Новое расписание парома на лето',
      'See below.',
    ]);
  });

  it('joins encoded words, also those that split a character, and decodes file names', async () => {
    const head = [
      'Subject: =?utf-8?b?RsM=?=\r\n =?utf-8?b?vHI=?= =?utf-8?q?_all?= =?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=',
      'From: =?windows-1252?q?Caf=E9_=96_=80?= <a@example.org>',
    ];
    const file = part({
      type: 'application/pdf',
      content: 'x',
      disposition: "attachment; filename*0*=utf-8''F%C3%A4hr; filename*1*=plan%20M%C3%A4rz.pdf",
    });
    const mail = Buffer.concat([
      Buffer.from(`${head.join('\r\n')}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n`),
      file,
      Buffer.from('\r\n--b--\r\n'),
    ]);

    const [subject, envelope, files] = textsOf(await parseEml(mail));

    expect(subject).toBe('Für all日本');
    expect(envelope).toContain('From: Café – € <a@example.org>');
    expect(files).toBe('- Fährplan März.pdf');
  });
});

describe('attachments', () => {
  it('reads attached messages within attached messages, up to a limit', async () => {
    let mail = message('Level 20', { type: 'text/plain', content: 'The last word.' });
    for (let level = 19; level >= 0; level--) {
      mail = message(`Level ${level}`, {
        type: 'message/rfc822',
        content: mail,
        disposition: attached(`${level + 1}.eml`),
      });
    }

    const found = textsOf(await parseEml(mail));

    expect(found.slice(0, 9)).toEqual(Array.from({ length: 9 }, (_, level) => `Level ${level}`));
    expect(found).toContain('- 9.eml');
    expect(found).not.toContain('Level 9');
  });

  it.each<[string, Part]>([
    ['text', { type: 'text/plain; charset=koi8-r', content: encodedAs('koi8-r', 'Девять бакланов') }],
    [
      'text without a type',
      { type: 'application/octet-stream', content: encodedAs('windows-1251', 'Девять бакланов') },
    ],
    ['HTML', { type: 'text/html', content: '<meta charset=utf-8><p>Девять <b>бакланов</b></p>', encoding: 'base64' }],
    ['XHTML', { type: 'application/xhtml+xml', content: '<html><body><p>Девять бакланов</p></body></html>' }],
  ])('reads attached %s under its name', async (kind, one) => {
    const name = kind.includes('HTML') ? 'birds.html' : 'birds.txt';
    const mail = message('B', { type: 'text/plain', content: 'See below.' }, { ...one, disposition: attached(name) });

    expect(await parseEml(mail)).toEqual([
      { type: 'title', text: 'B', level: 1 },
      { type: 'paragraph', text: 'See below.' },
      { type: 'subtitle', text: name, level: 2 },
      { type: 'paragraph', text: 'Девять бакланов' },
      { type: 'list', text: `- ${name}` },
    ]);
  });

  it('reads a body of XHTML', async () => {
    const content = '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Here<br/>it is</p></body></html>';

    expect(textsOf(await parseEml(message('X', { type: 'application/xhtml+xml', content })))).toEqual([
      'X',
      'Here\nit is',
    ]);
  });

  it('names an attachment that is declared as text and is none', async () => {
    const content = Buffer.from(Array.from({ length: 999 }, (_, i) => (i * 7919) % 256));
    const binary: Part = { type: 'text/plain', content, encoding: 'base64', disposition: attached('a.bin') };

    expect(textsOf(await parseEml(message('N', binary)))).toEqual(['N', '- a.bin']);
  });
});

describe('invitations', () => {
  const invitation = [
    'BEGIN:VCALENDAR',
    'METHOD:REQUEST',
    'BEGIN:VTIMEZONE',
    'TZID:Europe/Berlin',
    'BEGIN:STANDARD',
    'DTSTART:19701025T030000',
    'END:STANDARD',
    'END:VTIMEZONE',
    'BEGIN:VEVENT',
    'SUMMARY;LANGUAGE=en:Tasting: bread\\, rolls',
    'DTSTART;TZID=Europe/Berlin:20250301T090000',
    'DTEND;TZID="Europe/Berlin":20250301T101500',
    'RRULE:FREQ=WEEKLY;BYDAY=SA',
    'LOCATION:Bakery\\, first floor',
    'ORGANIZER;CN="Bäcker, Ann":mailto:ann@example.org',
    'ATTENDEE;CUTYPE=INDIVIDUAL;PARTSTAT=ACCEPTED;CN=Bob:MAILTO:bob@example.org',
    'ATTENDEE:mailto:cid@example.org',
    'STATUS:CONFIRMED',
    'DESCRIPTION:Bring the cake\\nand a ',
    ' knife',
    'BEGIN:VALARM',
    'DESCRIPTION:Reminder',
    'END:VALARM',
    'END:VEVENT',
    'BEGIN:VEVENT',
    'SUMMARY:Holiday',
    'DTSTART;VALUE=DATE:20250303',
    'END:VEVENT',
    'END:VCALENDAR',
  ].join('\r\n');
  const expected = [
    'Tasting: bread, rolls',
    [
      'Start: 2025-03-01 09:00 (Europe/Berlin)',
      'End: 2025-03-01 10:15 (Europe/Berlin)',
      'Repeats: freq weekly, byday sa',
      'Place: Bakery, first floor',
      'Organiser: Bäcker, Ann <ann@example.org>',
      'Attendees: Bob <bob@example.org>, cid@example.org',
      'Status: confirmed',
    ].join('\n'),
    'Bring the cake\nand a knife',
    'Holiday',
    'Start: 2025-03-03',
  ];

  it('reads an invitation once, as lines', async () => {
    const calendar: Part = { type: 'text/calendar; method=REQUEST; charset=utf-8', content: invitation };
    const mail = message('I', { type: 'text/plain', content: 'You are invited.' }, calendar, {
      ...calendar,
      type: 'application/ics; name=invite.ics',
      encoding: 'base64',
      disposition: attached('invite.ics'),
    });

    expect(textsOf(await parseEml(mail))).toEqual(['I', 'You are invited.', ...expected, '- invite.ics']);
  });
});

it('reads or refuses a damaged message', async () => {
  const mail = message(
    'D',
    { type: 'text/plain; charset=shift_jis', content: encodedAs('shift_jis', '日本語の手紙'), encoding: 'base64' },
    { type: 'text/calendar', content: 'BEGIN:VEVENT\r\nSUMMARY:x\r\nEND:VEVENT' },
    {
      type: 'message/rfc822',
      content: message('E', { type: 'text/html', content: '<p>é' }),
      disposition: attached('e.eml'),
    },
  );
  const damage = fc.array(fc.tuple(fc.nat(mail.length - 1), fc.nat(255)), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(damage, fc.nat(mail.length), async (places, length) => {
      const bytes = Buffer.from(mail);
      for (const [place, byte] of places) bytes[place] = byte;
      const outcome = await parseEml(bytes.subarray(0, length)).catch((error: unknown) => error);

      expect(Array.isArray(outcome) || outcome instanceof UnreadableDocument).toBe(true);
    }),
    { numRuns: 100 },
  );
});
