import { type HtmlElement, type HtmlNode, parseHtmlTree } from './html-tree';
import { parseHtml } from './parse-html';

const texts = (html: string) => parseHtml(html).map((block) => block.text);

it('maps h1 to a title and other headings to subtitles', () => {
  const blocks = parseHtml('<h1>Top <b>title</b></h1><h2>Sub<br>title</h2><h6><div>Low</div></h6>');

  expect(blocks).toEqual([
    { type: 'title', text: 'Top title', level: 1 },
    { type: 'subtitle', text: 'Sub title', level: 2 },
    { type: 'subtitle', text: 'Low', level: 6 },
  ]);
});

it('separates the number of a note from its text', () => {
  const note = '<aside><p><sup><a href="#r1">1</a></sup>Measured in 1998</p></aside>';

  expect(texts(`<p>Rye<sup id="r1"><a href="#n1">1</a></sup>, m<sup>2</sup></p>${note}<p><sup>235</sup>U</p>`)).toEqual(
    ['Rye1, m2', '1 Measured in 1998', '235U'],
  );
});

it('uses the title element of a page without h1', () => {
  expect(parseHtml('<title> The\n page </title><h2>Sub</h2>')).toEqual([
    { type: 'title', text: 'The page', level: 1 },
    { type: 'subtitle', text: 'Sub', level: 2 },
  ]);
});

it.each<[title: string, blocks: [text: string, level: number][]]>([
  [
    'Osprey 2.4: the manual',
    [
      ['Osprey 2.4: the manual', 0],
      ['Fixes of a release', 1],
    ],
  ],
  [
    'Fixes | Osprey 2.4',
    [
      ['Fixes | Osprey 2.4', 0],
      ['Fixes of a release', 1],
    ],
  ],
  ['fixes of  a Release!', [['Fixes of a release', 1]]],
  ['Fixes', [['Fixes of a release', 1]]],
  [' ', [['Fixes of a release', 1]]],
])('places the title "%s" above an h1 unless the h1 has its words', (title, blocks) => {
  const read = parseHtml(`<title>${title}</title><h1>Fixes of a release</h1>`);

  expect(read.map(({ text, level }) => [text, level])).toEqual(blocks);
});

it('splits text where the page starts a new block', () => {
  expect(texts('One<div>Two<section>Three</section>four</div><p>Five  <i>and\nmore</i><br>line</p>six')).toEqual([
    'One',
    'Two',
    'Three',
    'four',
    'Five and more\nline',
    'six',
  ]);
});

it.each([
  '<script>secret()</script>',
  '<SCRIPT type="x">if (a < b) { "</p>" + secret }</SCRIPT >',
  '<style>.secret {}</style>',
  '<noscript>secret: enable JavaScript</noscript>',
  '<noscript><img src=x alt=secret></noscript>',
  '<noframes>secret: use another browser</noframes>',
  '<template><p>secret</p></template>',
  '<!-- secret -->',
  '<p hidden>secret</p>',
  '<b hidden>secret</b>',
  '<div style="color: red; DISPLAY : none"><p>secret</p></div>',
  '<div aria-hidden="true">secret</div>',
  '<svg>secret<defs><text>secret</text></defs><symbol><title>secret</title></symbol><style>secret</style></svg>',
  '<svg aria-hidden=true><title>secret</title></svg>',
  '<iframe hidden srcdoc="<p>secret"></iframe>',
  '<x-a><template shadowrootmode=open><p hidden>secret</p></template>secret</x-a>',
  '<select><option>secret</option></select><textarea>secret</textarea>',
  '<iframe>secret</iframe><object>secret</object>',
])('hides in a page %s', (html) => {
  expect(texts(`<p>before</p>${html}<p>after</p>`)).toEqual(['before', 'after']);
  expect(texts(`<ul><li>one ${html}</li></ul>`)).toEqual(['- one']);
});

it.each([
  ['<b style="color:red; display: block">One</b><b style="display:block">two</b>', ['One', 'two']],
  ['<style>.row, td { display: block }</style><i class="a row">One</i><i class=row>two</i>', ['One', 'two']],
  ['<style>/* i { } */ label{color:red;display:block}</style><label>One</label><label>two</label>', ['One', 'two']],
  ['<style>i.x{display:block}#y{display:grid}</style><i class=x>One</i><i id=y>two</i><i>2</i>', ['One', 'two', '2']],
  ['<style>@media print{i{display:block}}</style><i>One</i><i>two</i>', ['Onetwo']],
  ['<style>@import "a"; i{display:block}</style><i>One</i><i>two</i>', ['One', 'two']],
  ['<style>i{display:block}i{display:inline}</style><i>One</i><i>two</i>', ['Onetwo']],
  ['<div style="display:flex"><i>One</i><i>two</i></div>', ['One', 'two']],
  ['<div style="display:inline">O</div><div style="display:inline">ne</div><div>two</div>', ['One', 'two']],
  ['<x-card>One</x-card><x-card>two</x-card>', ['One two']],
  [
    '<p>A <x-tip>boat</x-tip>, (<x-tip>red</x-tip>) or<x-tip> blue</x-tip><x-icon></x-icon>.</p>',
    ['A boat, (red) or blue.'],
  ],
  ['<ul><li><foo>One</foo><foo>two</foo></ul>', ['- One two']],
  ['<h2><i style="display:block">One</i><i style="display:block">two</i></h2>', ['One two']],
  ['<pre><i style="display:flex"><b>a</b><b>b</b></i><i style="display:flex">c</i></pre>', ['ab\nc']],
])('separates the words of %s', (html, expected) => {
  expect(texts(html)).toEqual(expected);
});

it.each([
  ['<x-a><template shadowrootmode="open"><p>Fee</p></template></x-a>', ['Fee']],
  [
    '<x-a><template shadowrootmode=closed><h2><slot name=t>None</slot></h2><slot></slot><p>end</p></template>' +
      '<i slot=t>Fees</i><p>Forty</p></x-a>',
    ['Fees', 'Forty', 'end'],
  ],
  ['<x-a><template shadowrootmode=open><p><slot>Fallback</slot></p></template> </x-a>', ['Fallback']],
  ['<x-a><template shadowrootmode=open><slot></slot><slot></slot></template><p>once</p></x-a>', ['once']],
  [
    '<x-a><template shadowrootmode=open><x-b><template shadowrootmode=open><p>b</p><slot></slot></template>' +
      '<slot></slot></x-b></template><p>light</p></x-a>',
    ['b', 'light'],
  ],
  [
    '<x-a><template shadowrootmode=open><table><tr><th>Port<tr><td><slot></slot></table></template>Marlow</x-a>',
    ['Port\nMarlow'],
  ],
  ['<p>Page</p><iframe srcdoc="<title>no</title><p>Inner &amp;amp; outer</p>"></iframe>', ['Page', 'Inner & outer']],
  [`<iframe srcdoc="<iframe srcdoc='<p>Deep'></iframe>"></iframe>`, ['Deep']],
  ['<body><noscript><p>Open at six.</p></noscript>', ['Open at six.']],
  ['<p>Mail <noscript>ann at sea</noscript></p>', ['Mail ann at sea']],
  ['<head><noscript><link></noscript><title>T</title></head><p>x', ['T', 'x']],
  ['<frameset><frame src=a><noframes><p>Two cranes</p></noframes></frameset>', ['Two cranes']],
  [
    '<svg><title>Plan</title><desc>Of the quay</desc><g>no<text>Old <tspan>house</tspan><tspan x=1>Mill</tspan></text>' +
      '<a href="b"><text>Pier</text></a></g><rect><title>Shed</title></rect></svg>',
    ['Plan\nOf the quay\nOld house Mill\nPier\nShed'],
  ],
  ['<svg><foreignObject><p>Label</p><p>two</p></foreignObject></svg>', ['Label', 'two']],
  ['<p>A <svg><title>star</title></svg> of five</p>', ['A star of five']],
])('reads what is shown by %s', (html, expected) => {
  expect(texts(html)).toEqual(expected);
});

it.each([
  ['Fees are <a href="https://a.example/fees-2026.pdf">here</a>.', 'Fees are here (https://a.example/fees-2026.pdf).'],
  ['<a href="/tides"><b>Click</b> here</a>', 'Click here (/tides)'],
  ['<a href="mailto:ann@example.org?subject=x">Hier klicken »</a>', 'Hier klicken » (ann@example.org)'],
  ['<a href="a.html">こちら</a>', 'こちら (a.html)'],
  ['<a href="a.html">[more…]</a>', '[more…] (a.html)'],
  ['<a href="#top">here</a> <a href="javascript:x()">more</a> <a>link</a>', 'here more link'],
  ['<a href="fees.pdf">The fees are here</a>', 'The fees are here'],
  [`<a href="/a?${'q'.repeat(300)}">here</a>`, 'here (/a)'],
  [`<a href="/${'q'.repeat(300)}">here</a>`, 'here'],
])('writes the target of a link that has no name of its own: %s', (html, expected) => {
  expect(texts(html)).toEqual([expected]);
});

it('reads a page that needs a script to be shown', () => {
  expect(texts('<html style="visibility:hidden"><body style="display:none"><p>Here</p>')).toEqual(['Here']);
});

it('keeps markers, numbers and indentation of nested lists', () => {
  const html = '<ul><li>a<ul><li>b<ol start=3><li>c<li><p>d</p><p>e</p></ol></ul><li>f</ul><p>g</p>';

  expect(parseHtml(html)).toEqual([
    { type: 'list', text: '- a\n  - b\n    3. c\n    4. d\n      e\n- f' },
    { type: 'paragraph', text: 'g' },
  ]);
});

it.each([
  [
    '<p>x</p><li>a</li>',
    [
      { type: 'paragraph', text: 'x' },
      { type: 'list', text: '- a' },
    ],
  ],
  ['<li>a<p>b</p><ul><li>c</ul></li>', [{ type: 'list', text: '- a\n  b\n  - c' }]],
  ['<blockquote>a<li>b</li>c</blockquote>', [{ type: 'blockquote', text: 'a\n- b\nc' }]],
  ['<li><li>a</li></li>', [{ type: 'list', text: '- a' }]],
])('reads the items of %s, which are outside of a list', (html, blocks) => {
  expect(parseHtml(html)).toEqual(blocks);
});

it('reads tables row by row and detects the header', () => {
  const html =
    '<table><caption>Prices</caption><thead><tr><th>Thing<th>Price</thead>' +
    '<tr><td>Tea<td><p>1</p><p>Euro</p><tr><td>Cake<td></table><table><tr><td>a<td>b</table>';

  expect(parseHtml(html)).toEqual([
    { type: 'paragraph', text: 'Prices' },
    { type: 'table', text: 'Thing | Price\nTea | 1 Euro\nCake |', headerLines: 1 },
    { type: 'table', text: 'a | b', headerLines: 0 },
  ]);
});

it('keeps values below their header when cells span columns and rows', () => {
  const html =
    '<table><thead><tr><th rowspan=2>Name<th colspan=2>Price<th rowspan=2>Note<tr><th>Small<th>Large</thead>' +
    '<tr><td rowspan=0>Tea<td>1<td>2<td rowspan=2>hot<tr><td>3<td>4<tbody><tr><td>Cake<td>5<td>6<td>cold</table>';

  expect(parseHtml(html)).toEqual([
    {
      type: 'table',
      text: 'Name | Price |  | Note\n| Small | Large |\nTea | 1 | 2 | hot\n| 3 | 4 |\nCake | 5 | 6 | cold',
      headerLines: 2,
    },
  ]);
});

it('bounds the cells added for large spans', () => {
  const cells = '<td colspan=1000000 rowspan=1000000>x'.repeat(10);
  const [wide] = texts(`<table><tr><td colspan=1000000>x<td>y</table>`);
  const [table] = texts(`<table>${`<tr>${cells}${'<tr><td>y'.repeat(99)}`.repeat(30)}</table>`);

  expect(wide!.split('|')).toHaveLength(101);
  expect(table!.length).toBeLessThan(5_000_000);
  expect(table!.match(/[xy]/g)).toHaveLength(30 * 109);
});

it('reads a layout table as plain blocks', () => {
  const html = '<table><tr><td>Menu<td><h1>Title</h1>Text<table><tr><th>a<tr><td>1</table></table>';

  expect(parseHtml(html)).toEqual([
    { type: 'paragraph', text: 'Menu' },
    { type: 'title', text: 'Title', level: 1 },
    { type: 'paragraph', text: 'Text' },
    { type: 'table', text: 'a\n1', headerLines: 1 },
  ]);
});

it('reads formulas from their alternative text, or else from their characters', () => {
  const letters = '<mi>f</mi><mo>=</mo><mn>2</mn>';
  const annotated = `<semantics>${letters}<annotation>TeX</annotation><annotation-xml>XML</annotation-xml></semantics>`;

  expect(texts(`Let <math alttext="f(x)=x^2">${letters}</math> and <math>${annotated}</math>.`)).toEqual([
    'Let f(x)=x^2 and f=2.',
  ]);
});

it('keeps whitespace in code', () => {
  const html = '<pre><code>if a:\n  b &lt; c\n\n</code></pre><pre><div>x</div><div>  y</div></pre>';

  expect(parseHtml(html)).toEqual([
    { type: 'code', text: 'if a:\n  b < c' },
    { type: 'code', text: 'x\n  y' },
  ]);
});

it('writes the paragraphs of a quote as one block', () => {
  expect(parseHtml('<blockquote><p>a</p><p>b</p></blockquote>c')).toEqual([
    { type: 'blockquote', text: 'a\nb' },
    { type: 'paragraph', text: 'c' },
  ]);
});

it.each([
  ['<p>a<p>b<b>c<p>d</b>e', ['a', 'bc', 'de']],
  ['<div>a</p>b</div></div></span>c', ['a', 'b', 'c']],
  ['a < b <3 & c &amp d', ['a < b <3 & c & d']],
  ['<p title="a>b>c', []],
  ['<p>a</p', ['a']],
  ['<table>a<td>b</table>c', ['a', 'b', 'c']],
  ['<ul>a<li>b<p>c</ul>d', ['  a\n- b\n  c', 'd']],
])('reads the malformed %s', (html, expected) => {
  expect(texts(html)).toEqual(expected);
});

it.each(['div', 'b', 'p', 'section', 'x-y', 'button'])('survives 30,000 nested <%s>', (name) => {
  const html = `<${name}>`.repeat(30_000) + 'deep' + `</${name}>`.repeat(30_000) + '<p>after</p>';

  expect(texts(html).filter((text) => text !== '')).toEqual(['deep', 'after']);
});

it.each(['div', 'b', 'section', 'x-y'])('limits the nesting of <%s> to the depth of browsers', (name) => {
  let level: HtmlNode[] = [parseHtmlTree(`<${name}>`.repeat(2_000), { xhtml: false })];
  let depth = 0;
  for (; level.length > 0; depth++) level = level.flatMap((node) => ('childNodes' in node ? node.childNodes : []));

  expect(depth).toBeLessThan(520);
});

it('keeps the first 200 attributes of a tag', () => {
  const attributes = Array.from({ length: 300 }, (_, i) => `a${i}`).join(' ');
  const document = parseHtmlTree(`<body ${attributes}>`, { xhtml: false }) as HtmlElement;
  const body = (document.childNodes[0] as HtmlElement).childNodes[1] as HtmlElement;

  expect(body.attrs.map(({ name }) => name)).toEqual(attributes.split(' ').slice(0, 200));
});

it('keeps hidden elements hidden below the maximum depth', () => {
  const deep = '<div>'.repeat(1000) + 'secret' + '</div>'.repeat(1000);

  expect(texts(`<div hidden>${deep}secret</div>after`)).toEqual(['after']);
});

it.each(['<ul><li>x', '<blockquote>x', '<table><tr><td>x', '<table>x<div>', '<p><font size=1>x', '<a><p>x'])(
  'keeps the text of 30,000 repetitions of %s',
  (html) => {
    expect(texts(html.repeat(30_000)).join('').split('x')).toHaveLength(30_001);
  },
);

it('reads 20,000 different unclosed fonts and a tag of 100,000 attributes', () => {
  const fonts = Array.from({ length: 20_000 }, (_, i) => `<p><font size=${i}>x`).join('');
  const attributes = Array.from({ length: 100_000 }, (_, i) => `a${i}`).join(' ');

  expect(texts(`${fonts}<p ${attributes}>y`)).toHaveLength(20_001);
});

it('bounds pages within pages, shadow trees within shadow trees and style sheets', () => {
  const frames = `<iframe srcdoc=${'<iframe/srcdoc='.repeat(30_000)}x`;
  const shadows = '<x-a><template shadowrootmode=open><slot></slot><slot></slot>'.repeat(10_000) + 'end';
  const slots = `<x-a><template shadowrootmode=open>${'<slot>'.repeat(10_000)}</template>${'<i>x</i>'.repeat(10_000)}`;
  const sheet = `${'/*'.repeat(100_000)}${'@media{'.repeat(100_000)}`;
  const rules = Array.from({ length: 20_000 }, (_, i) => `.c${i}{display:block}`).join('');
  const classes = Array.from({ length: 20_000 }, (_, i) => `c${i}`).join(' ');

  expect(texts(`<p>before</p>${frames}`)[0]).toBe('before');
  expect(texts(shadows)).toEqual(['end']);
  expect(texts(slots).join('').split('x')).toHaveLength(10_001);
  expect(texts(`<style>${sheet}</style><p>after`)).toEqual(['after']);
  expect(texts(`<style>${rules}</style>${`<i class="${classes}">a</i>`.repeat(5)}`)).toHaveLength(5);
});
