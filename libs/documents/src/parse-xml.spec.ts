import { parseXml } from './parse-xml';

const texts = (...slices: string[]) => Array.from(parseXml(slices), ({ text }) => text);

it('writes a block for each child of the root, with a line for each element and attribute', () => {
  const xml = `<?xml version="1.0"?><catalog xmlns="urn:c"><!-- no -->
    <book id="b1"><title>One &amp; only</title><price currency="EUR">5</price></book>
    <book id="b2"><title><![CDATA[<Two>]]></title></book></catalog>`;

  expect(texts(xml)).toEqual([
    'book.id: b1\nbook.title: One & only\nbook.price.currency: EUR\nbook.price: 5',
    'book.id: b2\nbook.title: <Two>',
  ]);
});

it('keeps a sentence with inline elements on one line', () => {
  expect(texts('<doc><p>Read <b>this <i>now</i></b>, then go.</p><p><b>So</b> it ends.</p></doc>')).toEqual([
    'p: Read this now, then go.',
    'p.b: So\np: it ends.',
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
  expect(() => texts('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>')).toThrow(/declares entities/);
  expect(texts('<!DOCTYPE a SYSTEM "a.dtd"><a>five&nbsp;o’clock</a>')).toEqual(['five&nbsp;o’clock']);
});

it.each(['<a><b></a>', '<a>', 'no xml', '<a></a><b></b>', '<a x=1></a>'])('refuses as XML %s', (xml) => {
  expect(() => texts(xml)).toThrow(/not valid XML: .*\d+:\d+.*Correct it/);
});

it('refuses elements that are nested a million deep', () => {
  expect(() => texts('<a>'.repeat(1_000_000))).toThrow(/nested deeper/);
});
