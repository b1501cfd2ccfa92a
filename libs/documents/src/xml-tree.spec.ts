import { UnreadableDocument } from './block';
import { deepestNesting } from './limits';
import { parseXml, textOf } from './xml-tree';

const parse = (xml: string) => parseXml(Buffer.from(xml));
const nested = (depth: number) => '<a>'.repeat(depth) + 'core' + '</a>'.repeat(depth);

it('keeps elements, attributes and text in order, with element names without prefix', () => {
  expect(parse('<x:a y:b="1">t<c/><![CDATA[<u>]]>&amp;</x:a>')).toEqual({
    name: 'a',
    attributes: { 'y:b': '1' },
    children: ['t', { name: 'c', attributes: {}, children: [] }, '<u>', '&'],
  });
});

it.each<[string, Buffer]>([
  ['UTF-16', Buffer.from('\uFEFF<?xml version="1.0" encoding="UTF-16"?><a>Käse</a>', 'utf16le')],
  ['UTF-8 with a mark', Buffer.from('\uFEFF<a>Käse</a>')],
  ['Latin-1', Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>Käse</a>', 'latin1')],
])('reads XML with %s', (_, bytes) => {
  expect(textOf(parseXml(bytes))).toBe('Käse');
});

it('allows a document type', () => {
  expect(textOf(parse('<!DOCTYPE a PUBLIC "-//X//EN" "http://127.0.0.1:1/a.dtd"><a>t</a>'))).toBe('t');
});

it.each([
  ['that expand to billions', '<!DOCTYPE a [<!ENTITY l "lol"><!ENTITY m "&l;&l;&l;">]><a>&m;</a>'],
  ['that are files', '<!DOCTYPE a [<!ENTITY l SYSTEM "file:///etc/passwd">]><a>&l;</a>'],
  ['for the document type itself', '<!DOCTYPE a [<!ENTITY % l SYSTEM "http://127.0.0.1:1/"> %l;]><a/>'],
])('refuses entities of XML %s', (_, xml) => {
  expect(() => parse(xml)).toThrow(UnreadableDocument);
  expect(() => parse(xml)).toThrow(/declares entities/);
});

it('refuses XML above the nesting limit', () => {
  expect(textOf(parse(nested(deepestNesting)))).toBe('core');
  expect(() => parse(nested(deepestNesting + 1))).toThrow(/nested more than 256/);
  expect(() => parse(nested(100_000))).toThrow(UnreadableDocument);
});

it.each(['', 'no XML', '<a>', '<a><b></a>', '<a>&unknown;</a>', '<a b=1/>', '<a/><b/>'])(
  'refuses the XML %j',
  (xml) => {
    expect(() => parse(xml)).toThrow(UnreadableDocument);
  },
);
