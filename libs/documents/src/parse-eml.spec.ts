import { parseEml } from './parse-eml';

const mail = (html: string, text: string) =>
  Buffer.from(
    [
      'Subject: News\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=x\n',
      `--x\nContent-Type: text/plain\n\n${text}\n`,
      `--x\nContent-Type: text/html\n\n${html}\n`,
      '--x--',
    ].join('\n'),
  );
const read = async (html: string, text: string) => (await parseEml(mail(html, text))).map((block) => block.text);

it('uses the plain text when the HTML says far less', async () => {
  const text = 'The ferry leaves at nine. '.repeat(5).trim();

  expect(await read('<p>See the plain text.</p>', text)).toEqual(['News', text]);
  expect(await read('<p hidden>Nothing</p>', text)).toEqual(['News', text]);
});

it('uses the HTML when the plain text is longer only by link addresses', async () => {
  const text = `The ferry leaves at nine: https://example.com/${'x'.repeat(500)}`;

  expect(await read('<h2>The ferry leaves at nine</h2>', text)).toEqual(['News', 'The ferry leaves at nine']);
});
