import { parseXml } from './parse-xml';

const texts = (...slices: string[]) => Array.from(parseXml(slices), ({ text }) => text);

it('writes a block for each child of the root, with a line for each element and attribute', () => {
  const xml = `<?xml version="1.0"?><catalog xmlns="urn:c"><!-- no -->
    <book id="b1"><title>One &amp; only</title><price currency="EUR">5</price></book>
    <book id="b2"><title><![CDATA[<Two>]]></title></book></catalog>`;

  expect(texts(xml)).toEqual([
    'book:\n  id: b1\n  title: One & only\n  price: 5 (currency: EUR)',
    'book:\n  id: b2\n  title: <Two>',
  ]);
});

it('keeps a sentence with inline elements on one line', () => {
  expect(texts('<doc><p>Read <b>this <i>now</i></b>, then go.</p><p><b>So</b> it ends.</p></doc>')).toEqual([
    'p: Read this now, then go.',
    'p:\n  b: So\np: it ends.',
  ]);
});

it('reads text directly in the root', () => {
  expect(texts('<note>Hello\n  there</note>')).toEqual(['Hello there']);
});

it('reads the same blocks of XML for any slice size', () => {
  const xml = '<a><b c="d">Käse &#x1F9C0; ]]&gt;</b><b>two</b></a>';

  expect(texts(...xml)).toEqual(texts(xml));
});

it('does not expand entities', () => {
  const bomb = `<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>`;

  expect(() => texts(bomb)).toThrow(/declares entities/);
  expect(() => texts('<!DOCTYPE a [<!ENTITY x "ha">]><a b="&x;"/>')).toThrow(/declares entities/);
  expect(() => texts('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>')).toThrow(/declares entities/);
  expect(texts('<!DOCTYPE a SYSTEM "a.dtd"><a>five&nbsp;o’clock</a>')).toEqual(['five&nbsp;o’clock']);
});

it.each([
  '<!NOTATION TIF SYSTEM "tif"><!ENTITY FIG1 SYSTEM "fig1.tif" NDATA TIF>',
  '<!ENTITY FIG1 PUBLIC "-//x" "fig1.tif"\nNDATA TIF >',
  '<!ENTITY x "ha > ha"><!ENTITY y SYSTEM "file:///etc/passwd">',
  '<!ENTITY % x SYSTEM "x.ent"> %x;',
  '<!ENTITY lt "&#38;#60;"><!ELEMENT a (b|c)*><!ATTLIST a b CDATA #IMPLIED>',
  '<!-- <!ENTITY nope "x"> --><?x <!ENTITY ?>',
  '<!ENTITY',
])('reads XML whose document type declares %s', (declarations) => {
  const xml = `<!DOCTYPE a [${declarations}]><a><b fig="FIG1">5 &lt; 6</b></a>`;
  const read = () => texts(xml);

  if (declarations === '<!ENTITY') expect(read().length).toBeLessThanOrEqual(1);
  else expect(read()).toEqual(['b: 5 < 6 (fig: FIG1)']);
});

it('writes a block for each record of a feed, with the names above it once', () => {
  const item = (i: number) =>
    `<item><title>Notice ${i}</title><link>https://a.example/${i}</link><description>${'word '.repeat(80)}</description>` +
    `<enclosure url="a.mp3" length="1"/><author><name>Ann</name></author></item>`;
  const xml = `<rss version="2.0"><channel><title>Harbour</title>${item(1)}${item(2)}${item(3)}</channel></rss>`;
  const [first, second, third, ...others] = texts(xml);

  expect(others).toEqual([]);
  expect(first).toMatch(/^version: 2.0\nchannel:\n {2}title: Harbour\n {2}item:\n {4}title: Notice 1\n {4}link: https/);
  expect(second).toMatch(/^channel:\n {2}item:\n {4}title: Notice 2\n/);
  expect(third).toMatch(/\n {4}enclosure: url: a.mp3, length: 1\n {4}author:\n {6}name: Ann$/);
});

it('keeps short elements of the same name in the record that has them', () => {
  const author = (name: string) => `<author><name>${name}</name><at>X</at></author>`;

  expect(texts(`<books><book><title>T</title>${author('A')}${author('B')}</book></books>`)).toEqual([
    'book:\n  title: T\n  author:\n    name: A\n    at: X\n  author:\n    name: B\n    at: X',
  ]);
});

it.each(['<a><b></a>', '<a>', 'no xml', '<a></a><b></b>', '<a x=1></a>'])('refuses as XML %s', (xml) => {
  expect(() => texts(xml)).toThrow(/not valid XML: .*\d+:\d+.*Correct it/);
});

it('refuses elements that are nested a million deep', () => {
  expect(() => texts('<a>'.repeat(1_000_000))).toThrow(/nested deeper/);
});
