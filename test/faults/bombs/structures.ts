import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { CompoundFile, type Storage } from '@parley/documents/compound-file';
import { compoundFileOf, type Folder } from '@parley/documents/test/compound-file-of';
import { zipOfTexts } from '@parley/documents/test/zip-of';
import { pdfOf, pdfOfObjects } from '@parley/testing/pdf';
import type { Syntax } from './mutations';

/** Part of a document, its characters one for each byte. */
interface Part {
  name: string;
  text: string;
  syntax: Syntax;
}

/** Real document that can be taken apart, changed and put together again. */
export interface Structure {
  /** File name, whose extension tells the format. */
  key: string;
  parts: Part[];
  build(texts: string[]): Buffer;
}

const fixtures = join('test', 'fixtures', 'documents');
const syntaxes: Record<string, Syntax> = {
  '.html': 'markup',
  '.xml': 'markup',
  '.json': 'json',
  '.ipynb': 'json',
  '.csv': 'cells',
  '.tsv': 'cells',
  '.rtf': 'rtf',
  '.pdf': 'pdf',
  ...Object.fromEntries(['.doc', '.xls', '.ppt', '.msg'].map((extension) => [extension, 'bytes' as const])),
};
/** Parts of archives that a reader reads; those that hold most of the text are chosen more often. */
const readParts = /\.(?:xml|rels|opf|x?html|mht|bin)$/;
const largestPart = 100_000;

function single(key: string, bytes: Buffer | string): Structure {
  const text = typeof bytes === 'string' ? Buffer.from(bytes).toString('latin1') : bytes.toString('latin1');
  return {
    key,
    parts: [{ name: key, text, syntax: syntaxes[extname(key)] ?? 'lines' }],
    build: ([changed]) => Buffer.from(changed!, 'latin1'),
  };
}

/** Each stream of a compound file is a part, so that its sectors stay whole. */
function compound(key: string, bytes: Buffer): Structure {
  const file = new CompoundFile(bytes);
  const parts: Part[] = [];
  const read = (storage: Storage, path: string[]) => {
    for (const name of storage.streams.keys()) {
      parts.push({
        name: [...path, name].join('/'),
        text: file.get(name, storage).toString('latin1'),
        syntax: 'bytes',
      });
    }
    for (const [name, inner] of storage.storages) read(inner, [...path, name]);
  };
  read(file.root, []);
  return {
    key,
    parts,
    build: (texts) => {
      const root: Folder = {};
      for (const [index, { name }] of parts.entries()) {
        const path = name.split('/');
        const last = path.pop()!;
        const folder = path.reduce<Folder>((around, part) => (around[part] ??= {}) as Folder, root);
        folder[last] = Buffer.from(texts[index]!, 'latin1');
      }
      return compoundFileOf(root);
    },
  };
}

function archive(key: string, entries: Map<string, Buffer>): Structure {
  const parts = [...entries].flatMap(([name, bytes]): Part[] =>
    readParts.test(name) && bytes.length < largestPart
      ? [{ name, text: bytes.toString('latin1'), syntax: name.endsWith('.bin') ? 'bytes' : 'markup' }]
      : [],
  );
  return {
    key,
    parts,
    build: (texts) => {
      const changed = parts.map(({ name }, i): [string, Buffer] => [name, Buffer.from(texts[i]!, 'latin1')]);
      return zipOfTexts(Object.fromEntries([...entries, ...changed]));
    },
  };
}

/** Entries of an archive that its directory describes truly. */
function entriesOf(bytes: Buffer): Map<string, Buffer> {
  const entries = new Map<string, Buffer>();
  for (let at = bytes.indexOf('504b0102', 0, 'hex'); at !== -1; at = bytes.indexOf('504b0102', at + 46, 'hex')) {
    const [packedSize, nameLength] = [bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28)];
    const local = bytes.readUInt32LE(at + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const packed = bytes.subarray(start, start + packedSize);
    const isPacked = bytes.readUInt16LE(at + 10) !== 0;
    entries.set(bytes.toString('utf8', at + 46, at + 46 + nameLength), isPacked ? inflateRawSync(packed) : packed);
  }
  return entries;
}

function ofFixture(file: string): Structure {
  const bytes = readFileSync(join(fixtures, file));
  return bytes.toString('latin1', 0, 2) === 'PK' ? archive(file, entriesOf(bytes)) : single(file, bytes);
}

const page = `<!doctype html><html><head><title>Tides</title><meta charset="utf-8"><style>p {}</style></head><body>
<h1>Tides <small>of Marlow</small></h1><p>First<br>line &amp; <b>more</b> <img alt="a boat" src="b.png"> text</p>
<ul><li>one<ol start="3"><li>two</li><li value="9"><p>three</p><p>four</p></li></ol></li><li>five</li></ul>
<table><caption>Times</caption><thead><tr><th rowspan="2">Port</th><th colspan="2">Time</th></tr><tr><th>In</th><th>Out</th></tr></thead>
<tbody><tr><td>Marlow</td><td>6</td><td rowspan="0">7</td></tr><tr><td colspan="3"><table><tr><td><h2>Inner</h2></td></tr></table></td></tr></tbody></table>
<dl><dt>ebb<dd>falling</dl><pre><code><div>let x;</div><div>x++;</div></code></pre><blockquote><p>said</p><ul><li>so</li></ul></blockquote>
<math alttext="x^2"><mi>x</mi></math><details><summary>More</summary><p hidden>not</p></details><select><option>no</option></select>
<h6>Low<ul><li>item in a heading</li></ul></h6><svg><title>no</title></svg><template><p>no</p></template></body></html>`;

const markdown = `---
title: Signals
---

# The *lighthouse* [one][a]

Some **words**, \`code\`, <b>bold</b> and ~~none~~[^1].
Second line  
third ![alt](a.png) <https://example.org>

1. one
   - two
     > quoted
     > 1. three
   - [x] four
2. five

| Light | Meaning |
|:--|--:|
| two \\| flashes | fog |
| red | closed

<table><tr><td>raw</td></tr></table>

<p>x</p><li>a</li>

\`\`\`js
moor();
\`\`\`

    indented

Setext
======

***

[a]: https://example.org "title"
[^1]: A note
    - in a list
`;

const mail = `From: =?utf-8?Q?F=C3=A4hre?= <a@example.org>
To: Group: Ann <ann@example.net>, b@example.net;
Subject: =?ISO-8859-1?B?/GJlcg==?=
Date: Fri, 28 Feb 2025 08:11:02 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="m"

--m
Content-Type: multipart/alternative; boundary=n

--n
Content-Type: text/plain; charset=utf-8; format=flowed
Content-Transfer-Encoding: quoted-printable

The ferry leaves at seven.=20
Come =C3=BC early.
--n
Content-Type: text/html; charset=windows-1252
Content-Transfer-Encoding: base64

PHA+VGhlIDxiPmZlcnJ5PC9iPjwvcD48bGk+c2V2ZW48L2xpPjx0YWJsZT48dHI+PHRkPmE8L3RkPjwvdHI+PC90YWJsZT4=
--n--
--m
Content-Type: message/rfc822

Subject: inner

inner text
--m
Content-Type: text/csv; name="plan.csv"
Content-Disposition: attachment; filename*=utf-8''pl%C3%A4n.csv

a,b
--m--
`;

const json = JSON.stringify({
  name: 'Mara',
  numbers: [1, -0.5, 1e21, null, true],
  trips: [{ to: 'Eastcliff', days: [1, [2, [3, {}]]] }, []],
  'a key "quoted"': { '': 'x', deep: { deeper: { deepest: ['a\nb', '\u0000'] } } },
});

const rtf = String.raw`{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset128 MS Mincho;}}
{\stylesheet{\s1\outlinelevel0 heading 1;}{\*\cs2 x;}{\s3 Quotations;}}{\info{\title no}}
\pard\s1 Title\par\pard Some {\b bold} \'fc\u8364?\uc2\u252 ??{\footnote\pard {\chftn} A note\par}\par
{\listtext 1.\tab}\pard\ls1\ilvl1 item\par{\pntext\'b7\tab}\pard\ls2\ilvl0 other\par
\trowd\trhdr\cellx100\cellx200\intbl a\cell b\cell\row\trowd\intbl c{\nestcell}\cell d\cell\row\pard
{\shp{\*\shpinst{\shptxt \pard boxed\par}}}{\pict\bin3 abc}{\*\unknown no}{\f1\'82\'a0}\pard\s3 said\par{\v hidden}{\deleted no}}`;

/** Parts of an archive by name. */
function entries(texts: Record<string, string>): Map<string, Buffer> {
  return new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]));
}

const shownPage = `<!doctype html><html><head><title>Osprey 2.4</title><style>/* a */ .b, i { color: red; display: block } @media print { b { display: none } } #c{display:flex}</style></head><body>
<h1>Release</h1><i class="a b">one</i><i id=c><b>two</b><span style="display:inline">three</span></i><x-card slot=s>four</x-card><foo>five</foo>
<x-a><template shadowrootmode="open"><p>In <slot name=s>none</slot><slot></slot></p><x-b><template shadowrootmode=closed><slot></slot></template><slot></slot></x-b></template><i slot=s>slotted</i>light</x-a>
<iframe srcdoc="<p>Inner &amp;amp; <iframe srcdoc='deep'></iframe></p>"></iframe><noscript><p>No script</p></noscript><a href="/fees.pdf?a=b#c">here</a> <a href="mailto:a@b.c">click here</a>
<svg><title>Plan</title><desc>of it</desc><g><a href=x><text>Old <tspan x=1>house</tspan></text></a></g><defs><text>no</text></defs><foreignObject><p>html</p></foreignObject></svg>Donau&shy;dampf</body></html>`;

const notebook = JSON.stringify({
  cells: [
    { cell_type: 'markdown', metadata: {}, source: ['# Tides\n', 'A **bold** word\n', '- item'] },
    {
      cell_type: 'code',
      execution_count: 1,
      outputs: [
        { output_type: 'stream', name: 'stdout', text: ['one\n', 'two'] },
        {
          output_type: 'display_data',
          data: { 'image/png': 'AAAA', 'text/html': '<table><tr><td>a', 'text/plain': 'b' },
        },
        { output_type: 'error', ename: 'ValueError', evalue: 'bad', traceback: ['x'] },
      ],
      source: 'f()\n\ng()',
    },
    { cell_type: 'raw', source: 'raw' },
  ],
  metadata: { kernelspec: { language: 'python' }, language_info: { codemirror_mode: { name: 'x' }, name: 'python' } },
  nbformat: 4,
  nbformat_minor: 5,
});

const feed = `<?xml version="1.0"?><!DOCTYPE rss [<!NOTATION T SYSTEM "t"><!ENTITY f SYSTEM "f.tif" NDATA T><!ENTITY u "x">]>
<rss version="2.0" xmlns:a="a"><channel><title>Harbour</title><item a:id="1"><title>One</title><enclosure url="a" length="1"/><author><name>Ann</name></author></item>
<item><title>Two <b>bold</b> words</title><description><![CDATA[<p>text</p>]]></description><author>Bo</author></item></channel></rss>`;

const w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const diagram =
  '<dgm:dataModel xmlns:dgm="d" xmlns:a="a"><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>node</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>';
const chart = `<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Landed</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:f>A1</c:f><c:strCache><c:pt idx="0"><c:v>Tonnes</c:v></c:pt></c:strCache></c:strRef></c:tx><c:dLbls><c:dLbl><c:tx><c:rich><a:p><a:r><a:t>most</a:t></a:r></a:p></c:rich></c:tx></c:dLbl></c:dLbls><c:cat><c:multiLvlStrRef><c:multiLvlStrCache><c:lvl><c:pt idx="0"><c:v>May</c:v></c:pt><c:pt idx="1"><c:v>June</c:v></c:pt></c:lvl><c:lvl><c:pt idx="0"><c:v>2025</c:v></c:pt></c:lvl></c:multiLvlStrCache></c:multiLvlStrRef></c:cat><c:val><c:numRef><c:numCache><c:formatCode>0.0%</c:formatCode><c:ptCount val="2"/><c:pt idx="0"><c:v>0.5</c:v></c:pt><c:pt idx="1"><c:v>0.25</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser><c:ser><c:xVal><c:numLit><c:pt idx="3"><c:v>1</c:v></c:pt></c:numLit></c:xVal><c:yVal><c:numLit><c:pt idx="3"><c:v>2</c:v></c:pt></c:numLit></c:yVal></c:ser></c:barChart><c:catAx><c:title><c:tx><c:rich><a:p><a:r><a:t>Month</a:t></a:r></a:p></c:rich></c:tx></c:title></c:catAx></c:plotArea></c:chart></c:chartSpace>`;
const newChart =
  '<cx:chartSpace xmlns:cx="cx" xmlns:a="a"><cx:chartData><cx:data id="0"><cx:strDim type="cat"><cx:lvl ptCount="1"><cx:pt idx="0">Rope</cx:pt></cx:lvl></cx:strDim><cx:numDim type="val"><cx:lvl formatCode="0.0"><cx:pt idx="0">3</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartData><cx:chart><cx:title><cx:tx><cx:txData><cx:v>Stock</cx:v></cx:txData></cx:tx></cx:title><cx:series><cx:tx><cx:txData><cx:v>Coils</cx:v></cx:txData></cx:tx><cx:dataId val="0"/></cx:series></cx:chart></cx:chartSpace>';
const wordTable = `<w:tbl><w:tblPr><w:tblLook w:val="04A0" w:firstRow="1"/></w:tblPr><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/><w:vMerge w:val="restart"/></w:tcPr><w:p><w:r><w:t>head</w:t></w:r></w:p></w:tc></w:tr><w:tr><w:trPr/><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`;
const word = entries({
  '[Content_Types].xml': '<Types><Override PartName="/word/document.xml" ContentType="a"/></Types>',
  '_rels/.rels': `<Relationships><Relationship Id="a" Type="${relationships}/officeDocument" Target="word/document.xml"/></Relationships>`,
  'word/_rels/document.xml.rels': `<Relationships><Relationship Id="f" Type="${relationships}/footnotes" Target="footnotes.xml"/><Relationship Id="s" Type="${relationships}/styles" Target="styles.xml"/><Relationship Id="n" Type="${relationships}/numbering" Target="numbering.xml"/><Relationship Id="h" Type="${relationships}/hyperlink" Target="http://a" TargetMode="External"/><Relationship Id="k" Type="${relationships}/header" Target="header1.xml"/><Relationship Id="l" Type="${relationships}/footer" Target="header1.xml"/><Relationship Id="c" Type="${relationships}/chart" Target="chart.xml"/><Relationship Id="x" Type="${relationships}/chartEx" Target="chartex.xml"/><Relationship Id="d" Type="${relationships}/diagramData" Target="d.xml"/><Relationship Id="o" Type="${relationships}/comments" Target="comments.xml"/><Relationship Id="i" Type="${relationships}/aFChunk" Target="chunk.html"/><Relationship Id="m" Type="${relationships}/aFChunk" Target="chunk.mht"/></Relationships>`,
  'word/document.xml': `<w:document ${w} xmlns:m="m" xmlns:mc="mc" xmlns:wps="wps" xmlns:r="r" xmlns:v="v"><w:body><w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>Title</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:hyperlink r:id="h"><w:r><w:t>item</w:t></w:r></w:hyperlink></w:p>${wordTable}
<w:p><w:r><w:footnoteReference w:id="1"/><w:cr/><w:tab/></w:r><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath><w:ruby><w:rt><w:r><w:t>no</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>base</w:t></w:r></w:rubyBase></w:ruby></w:p>
<w:p><w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r><w:del><w:r><w:delText>no</w:delText></w:r></w:del><w:fldSimple w:instr="x"><w:r><w:t>field</w:t></w:r></w:fldSimple></w:p><w:sdt><w:sdtContent><w:p><w:bookmarkStart w:name="b"/><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>HYPERLINK "a"</w:instrText><w:fldChar w:fldCharType="separate"/><w:t>link</w:t><w:fldChar w:fldCharType="end"/></w:r></w:p></w:sdtContent></w:sdt>
<w:p><w:pPr><w:pStyle w:val="N"/><w:rPr><w:del/></w:rPr></w:pPr><w:commentRangeStart w:id="0"/><w:r><w:t>clause</w:t><w:sym w:font="Wingdings" w:char="F0FE"/></w:r><w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="2"/><w:numId w:val="2"/></w:numPr></w:pPr><w:r><w:t>letter</w:t></w:r></w:p>
<w:p><w:r><w:drawing><wp:inline><wp:docPr descr="A quay"/><c:chart r:id="c"/><dgm:relIds r:dm="d"/></wp:inline></w:drawing><w:drawing><cx:chart r:id="x"/></w:drawing><w:pict><v:shape alt="a stamp"><v:textpath string="DRAFT"/></v:shape></w:pict></w:r></w:p><w:altChunk r:id="i"/><w:altChunk r:id="m"/><w:altChunk r:id="i"/><w:sectPr><w:headerReference r:id="k"/></w:sectPr></w:body></w:document>`,
  'word/header1.xml': `<w:hdr ${w}><w:p><w:r><w:t>Manual</w:t><w:fldChar w:fldCharType="begin"/><w:instrText>PAGE</w:instrText><w:fldChar w:fldCharType="separate"/><w:t>3</w:t><w:fldChar w:fldCharType="end"/></w:r></w:p></w:hdr>`,
  'word/comments.xml': `<w:comments ${w}><w:comment w:id="0" w:author="Ann"><w:p><w:r><w:t>why</w:t></w:r></w:p></w:comment></w:comments>`,
  'word/chart.xml': chart,
  'word/chartex.xml': newChart,
  'word/d.xml': diagram,
  'word/chunk.html': '<html><meta charset="utf-8"><h2>Imported</h2><p>eel <b>traps</b></p></html>',
  'word/chunk.mht':
    'MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>from mail</p>\r\n--b--\r\n',
  'word/footnotes.xml': `<w:footnotes ${w}><w:footnote w:id="1"><w:p><w:r><w:t>note</w:t></w:r></w:p></w:footnote></w:footnotes>`,
  'word/styles.xml': `<w:styles ${w}><w:style w:type="paragraph" w:styleId="H"><w:name w:val="own"/><w:basedOn w:val="B"/></w:style><w:style w:type="paragraph" w:styleId="B"><w:name w:val="heading 2"/></w:style><w:style w:type="numbering" w:styleId="L"><w:name w:val="l"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style><w:style w:type="paragraph" w:styleId="N"><w:name w:val="List Number 2"/><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="2"/></w:numPr></w:pPr></w:style></w:styles>`,
  'word/numbering.xml': `<w:numbering ${w}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:pStyle w:val="H"/></w:lvl><w:numStyleLink w:val="L"/></w:abstractNum><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:isLgl/><w:pStyle w:val="N"/><w:lvlText w:val="%1.%2"/></w:lvl><w:lvl w:ilvl="2"><w:lvlRestart w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="2"><w:startOverride w:val="27"/></w:lvlOverride></w:num></w:numbering>`,
});

const slides = entries({
  '[Content_Types].xml': '<Types/>',
  '_rels/.rels': `<Relationships><Relationship Id="a" Type="${relationships}/officeDocument" Target="ppt/presentation.xml"/></Relationships>`,
  'ppt/presentation.xml':
    '<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="s"/></p:sldIdLst></p:presentation>',
  'ppt/_rels/presentation.xml.rels': `<Relationships><Relationship Id="s" Type="${relationships}/slide" Target="slides/a.xml"/><Relationship Id="u" Type="${relationships}/authors" Target="authors.xml"/></Relationships>`,
  'ppt/slides/_rels/a.xml.rels': `<Relationships><Relationship Id="d" Type="${relationships}/diagramData" Target="../d.xml"/><Relationship Id="n" Type="${relationships}/notesSlide" Target="../n.xml"/><Relationship Id="c" Type="${relationships}/chart" Target="../c.xml"/><Relationship Id="o" Type="${relationships}/comments" Target="../o.xml"/></Relationships>`,
  'ppt/c.xml': chart,
  'ppt/o.xml':
    '<p:cmLst xmlns:p="p" xmlns:a="a"><p:cm authorId="1"><p:text>older</p:text></p:cm><p:cm authorId="1"><p:txBody><a:p><a:r><a:t>newer</a:t></a:r></a:p></p:txBody><p:replyLst><p:reply authorId="2"><p:txBody><a:p><a:r><a:t>reply</a:t></a:r></a:p></p:txBody></p:reply></p:replyLst></p:cm></p:cmLst>',
  'ppt/authors.xml': '<p:authorLst xmlns:p="p"><p:author id="1" name="Ann"/></p:authorLst>',
  'ppt/slides/a.xml':
    '<p:sld xmlns:p="p" xmlns:a="a" xmlns:mc="mc" xmlns:r="r" xmlns:dgm="d"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>Title</a:t></a:r></a:p></p:txBody></p:sp><p:grpSp><p:sp><p:nvSpPr><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:pPr lvl="1"><a:buAutoNum type="arabicPeriod" startAt="3"/></a:pPr><a:r><a:t>three</a:t></a:r></a:p><a:p><a:pPr lvl="0"/><a:fld><a:t>four</a:t></a:fld><a:br/></a:p><a:p><a:pPr><a:buNone/></a:pPr><a:r><a:t>plain</a:t></a:r></a:p></p:txBody></p:sp></p:grpSp><mc:AlternateContent><mc:Choice><p:sp><p:txBody><a:p><a:m><m:r><m:t>x</m:t></m:r></a:m></a:p></p:txBody></p:sp></mc:Choice></mc:AlternateContent><p:graphicFrame><a:tbl><a:tblPr firstRow="1"/><a:tr><a:tc gridSpan="2"><a:txBody><a:p><a:r><a:t>cell</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame><p:pic><p:nvPicPr><p:cNvPr descr="A crane"/><p:nvPr/></p:nvPicPr></p:pic><p:sp><p:nvSpPr><p:nvPr><p:ph type="ftr"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:pPr><a:buAutoNum type="romanUcParenBoth"/></a:pPr><a:r><a:t>footer</a:t></a:r></a:p></p:txBody></p:sp><p:graphicFrame><dgm:relIds r:dm="d"/></p:graphicFrame><p:graphicFrame><c:chart r:id="c"/></p:graphicFrame></p:spTree></p:cSld></p:sld>',
  'ppt/d.xml': diagram,
  'ppt/n.xml':
    '<p:notes xmlns:p="p" xmlns:a="a"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:pPr lvl="2"><a:buChar char="x"/></a:pPr><a:r><a:t>note</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:notes>',
});

const odf =
  'xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:draw="d" xmlns:style="s" xmlns:presentation="p" xmlns:xlink="x"';
const odfStyles =
  '<style:style style:name="Q" style:parent-style-name="Quotations"/><style:style style:name="C" style:parent-style-name="Preformatted_20_Text"/><text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" text:start-value="3"/><text:list-level-style-bullet text:level="2"/></text:list-style>';
const openDocument = (body: string) =>
  entries({
    'META-INF/manifest.xml': '<manifest:manifest xmlns:manifest="m"><manifest:file-entry/></manifest:manifest>',
    'styles.xml': `<office:document-styles ${odf}><office:styles><style:style style:name="T" style:parent-style-name="Title"/><text:outline-style><text:outline-level-style text:level="1" style:num-format="I" style:num-suffix="."/><text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style></office:styles><office:master-styles><style:master-page><style:header><text:p>Manual<text:page-number>3</text:page-number></text:p></style:header><style:footer><text:p>Approved</text:p></style:footer></style:master-page></office:master-styles></office:document-styles>`,
    'Object 1/content.xml': `<office:document-content ${odf} xmlns:chart="c"><office:body><office:chart><chart:chart><chart:title><text:p>Landed</text:p></chart:title><table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Tonnes</text:p></table:table-cell></table:table-row></table:table-header-rows></table:table></chart:chart></office:chart></office:body></office:document-content>`,
    'content.xml': `<office:document-content ${odf}><office:automatic-styles>${odfStyles}</office:automatic-styles><office:body>${body}</office:body></office:document-content>`,
  });
const odfText = `<office:text><text:tracked-changes/><text:p text:style-name="T">Title</text:p><text:h text:outline-level="2">Sub<text:s text:c="3"/>title</text:h>
<text:p>Some<text:tab/><text:span>text<text:line-break/></text:span><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p><text:p>more</text:p></text:note-body></text:note><draw:frame><draw:text-box><text:p>boxed</text:p><text:list><text:list-item><text:p>x</text:p></text:list-item></text:list></draw:text-box></draw:frame></text:p>
<text:list text:style-name="L"><text:list-header><text:p>head</text:p></text:list-header><text:list-item text:start-value="7"><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item></text:list></text:list-item></text:list><text:list text:style-name="L" text:continue-numbering="true"><text:list-item><text:list><text:list-item><text:p>three</text:p></text:list-item></text:list></text:list-item></text:list>
<table:table table:use-first-row-styles="true"><table:table-header-rows><table:table-row><table:table-cell><text:p>head</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>a</text:p><table:table><table:table-row><table:table-cell><text:p>in</text:p></table:table-cell></table:table-row></table:table></table:table-cell><table:covered-table-cell/></table:table-row></table:table>
<text:p text:style-name="Q">said</text:p><text:p text:style-name="C">code</text:p><text:section><text:p>in a section<office:annotation office:name="a"><text:p>why</text:p></office:annotation> more<office:annotation-end office:name="a"/></text:p></text:section><draw:frame><draw:object xlink:href="./Object 1"/><svg:title xmlns:svg="v">A quay</svg:title></draw:frame></office:text>`;
const odfSheet =
  '<office:spreadsheet><table:table table:name="Sheet"><table:table-row table:number-rows-repeated="2"><table:table-cell office:value-type="float" office:value="1.5" table:number-columns-repeated="3"><text:p>1.5</text:p></table:table-cell><table:table-cell office:date-value="2025-01-02T00:00:00"><text:p>x</text:p></table:table-cell><table:covered-table-cell/></table:table-row><table:table-row><table:table-cell table:number-columns-spanned="2" table:number-rows-spanned="2"><office:annotation><text:p>why</text:p></office:annotation><text:p>text<text:s/></text:p></table:table-cell></table:table-row><table:shapes><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></table:shapes></table:table></office:spreadsheet>';
const odfSlides =
  '<office:presentation><draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Title</text:p></draw:text-box></draw:frame><draw:g><draw:custom-shape><text:p>shape</text:p></draw:custom-shape></draw:g><draw:frame><table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row></table:table></draw:frame><presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>note</text:p></draw:text-box></draw:frame></presentation:notes></draw:page></office:presentation>';

const workbook = entries({
  '[Content_Types].xml': '<Types/>',
  '_rels/.rels': `<Relationships><Relationship Id="a" Type="${relationships}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml':
    '<workbook xmlns:r="r"><workbookPr date1904="1"/><sheets><sheet name="One" r:id="a"/><sheet name="Two" r:id="b"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels': `<Relationships><Relationship Id="a" Type="${relationships}/worksheet" Target="a.xml"/><Relationship Id="b" Type="${relationships}/worksheet" Target="/xl/a.xml"/><Relationship Id="p" Type="${relationships}/person" Target="p.xml"/><Relationship Id="t" Type="${relationships}/sharedStrings" Target="t.xml"/><Relationship Id="y" Type="${relationships}/styles" Target="y.xml"/></Relationships>`,
  'xl/t.xml': '<sst><si><t>shared _x0041_</t></si><si><r><t>rich</t></r><rPh><t>no</t></rPh></si></sst>',
  'xl/y.xml':
    '<styleSheet><numFmts><numFmt numFmtId="200" formatCode="[h]:mm;@"/><numFmt numFmtId="201" formatCode="yyyy-mm-dd"/><numFmt numFmtId="202" formatCode="[Red]#,##0.0 &quot;kg&quot;;(# ?/?);@"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="200"/><xf numFmtId="201"/><xf numFmtId="202"/><xf numFmtId="10"/></cellXfs></styleSheet>',
  'xl/a.xml':
    '<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row><c s="1"><v>45000.5</v></c><c s="2"><v>0.75</v></c><c s="3"><v>60</v></c><c t="b"><v>1</v></c><c t="inlineStr"><is><t>inline</t></is></c><c t="e"><v>#REF!</v></c><c t="str"><f>A1</f><v>x</v></c><c><f>SUM(A1:B2)</f></c><c s="4"><v>-1.25</v></c><c s="5"><v>0.07</v></c></row></sheetData><mergeCells><mergeCell ref="A1:B2"/></mergeCells></worksheet>',
  'xl/_rels/a.xml.rels': `<Relationships><Relationship Id="d" Type="${relationships}/drawing" Target="d.xml"/><Relationship Id="c" Type="${relationships}/comments" Target="c.xml"/><Relationship Id="h" Type="${relationships}/threadedComment" Target="h.xml"/></Relationships>`,
  'xl/_rels/d.xml.rels': `<Relationships><Relationship Id="c" Type="${relationships}/chart" Target="chart.xml"/></Relationships>`,
  'xl/d.xml':
    '<xdr:wsDr xmlns:xdr="x" xmlns:a="a" xmlns:c="c" xmlns:r="r"><xdr:twoCellAnchor><xdr:sp><xdr:nvSpPr><xdr:cNvPr descr="A box"/></xdr:nvSpPr><xdr:txBody><a:p><a:r><a:t>boxed</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:twoCellAnchor><xdr:oneCellAnchor><xdr:graphicFrame><c:chart r:id="c"/></xdr:graphicFrame></xdr:oneCellAnchor></xdr:wsDr>',
  'xl/chart.xml': chart,
  'xl/c.xml':
    '<comments><authors><author>Ann</author></authors><commentList><comment ref="A1" authorId="0"><text><r><t>Ann:</t></r><r><t>why</t></r></text></comment><comment ref="B1" authorId="7"><text><t>copy</t></text></comment></commentList></comments>',
  'xl/h.xml':
    '<ThreadedComments><threadedComment ref="B1" personId="p"><text>thread</text></threadedComment></ThreadedComments>',
  'xl/p.xml': '<personList><person id="p" displayName="Bea"/></personList>',
});

const book = entries({
  mimetype: 'application/epub+zip',
  'META-INF/container.xml': '<container><rootfiles><rootfile full-path="o/book.opf"/></rootfiles></container>',
  'META-INF/encryption.xml':
    '<encryption><EncryptedData><CipherReference URI="o/font.otf"/></EncryptedData></encryption>',
  'o/book.opf':
    '<package xmlns:dc="dc"><metadata><dc:title>Tides</dc:title></metadata><manifest><item id="a" href="a%20b.xhtml" media-type="application/xhtml+xml"/><item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest><spine><itemref idref="n"/><itemref idref="a"/><itemref idref="a"/></spine></package>',
  'o/a b.xhtml': page.replaceAll('<br>', '<br/>'),
});

/** Pages with headings, columns, a table, code, a list, form fields and annotations, whose operators are not compressed. */
function drawnPdf(): Buffer {
  const rows = Array.from({ length: 6 }, (_, i) => i);
  return pdfOf([
    [
      { text: 'Keeping the lighthouse', x: 72, y: 740, size: 20, font: 'bold' },
      { text: 'Daily work', x: 72, y: 715, size: 14, font: 'bold' },
      ...rows.map((i) => ({ text: 'Words that fill the line of the first column here', x: 72, y: 690 - i * 12 })),
      ...rows.map((i) => ({ text: 'and words that fill that of the second column too', x: 320, y: 690 - i * 12 })),
      ...rows.map((i) => ({ text: `- item ${i} of a list`, x: 72 + (i % 3) * 12, y: 600 - i * 12 })),
    ],
    rows.flatMap((i) => [
      { text: `name ${i}`, x: 72, y: 700 - i * 14 },
      { text: `${i}.5`, x: 200, y: 700 - i * 14 },
      { text: 'long cell', x: 300, y: 700 - i * 14, font: 'bold' as const },
    ]),
  ]);
}

function formPdf(): Buffer {
  const content =
    'BT /f 10 Tf 1 0 0 1 20 100 Tm (Name:) Tj 0 -1.2 TD [(a) -250 (b)] TJ T* 12 TL 90 Tz 0.7 0.7 -0.7 0.7 9 9 Tm (turned) Tj ET';
  return pdfOfObjects([
    '<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R 7 0 R] /DA (/f 0 Tf) >> >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Rotate 90 /Contents 4 0 R /Annots [6 0 R 7 0 R 8 0 R] /Resources << /Font << /f 5 0 R /g 9 0 R >> /XObject << /x 11 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding << /Type /Encoding /Differences [65 /Aacute /B] >> /FirstChar 32 /Widths [600 600] >>',
    '<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Mara) /Rect [60 95 160 110] /P 3 0 R /F 4 >>',
    '<< /Type /Annot /Subtype /Widget /FT /Ch /T (kind) /V (a) /Opt [[(a) (First)] [(b) (Second)]] /Rect [60 75 160 90] /P 3 0 R >>',
    '<< /Type /Annot /Subtype /FreeText /Contents (beside) /DA (/f 9 Tf) /Rect [10 10 90 30] >>',
    '<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /Identity-H /DescendantFonts [10 0 R] >>',
    '<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Own /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 500 /W [1 [300 400] 5 9 700] >>',
    '<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Matrix [1 0 0 1 0 0] /Length 24 >>\nstream\nBT /f 9 Tf (form) Tj ET \nendstream',
  ]);
}

/** Replacement texts, letters drawn twice, vertical text, comments and an XFA form. */
function markedPdf(): Buffer {
  const content = `BT /f 12 Tf 72 700 Td /Span << /ActualText <FEFF00410042> /MCID 0 >> BDC (x) Tj EMC /P << /MCID 1 >> BDC ( word) Tj EMC ET
BT /f 12 Tf 72 650 Td (H) Tj ET BT /f 12 Tf 72.4 650 Td (H) Tj ET BT /f 12 Tf 80.7 650 Td (A) Tj ET BT /f 12 Tf 81 650 Td (A) Tj ET
BT /v 12 Tf 300 600 Td <6E2F306F> Tj ET BT /v 12 Tf 280 600 Td <82394E00> Tj ET`;
  const form =
    '<xdp:xdp xmlns:xdp="x"><template><subform name="a"><draw><value><text>Request</text></value></draw><field name="b"><caption><value><text>Name</text></value></caption></field></subform></template><xfa:datasets xmlns:xfa="y"><xfa:data><a><b>Ann</b><c>Bo</c></a></xfa:data></xfa:datasets></xdp:xdp>';
  return pdfOfObjects([
    '<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [] /XFA 7 0 R >> >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 612 792] >>',
    '<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Annots [6 0 R << /Type /Annot /Subtype /Highlight /Rect [0 0 9 9] /QuadPoints [0 9 9 9 0 0 9 0] /Contents (note) /T (Ann) >>] /Resources << /Font << /f 5 0 R /v 8 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    '<< /Type /Annot /Subtype /Text /Rect [60 650 80 670] /Contents (Ask first) /T (Bo) >>',
    `<< /Length ${form.length} >>\nstream\n${form}\nendstream`,
    '<< /Type /Font /Subtype /Type0 /BaseFont /R /Encoding /UniJIS-UCS2-V /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /R /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /DW 1000 /FontDescriptor << /Type /FontDescriptor /FontName /R /Flags 4 >> >>] >>',
  ]);
}

/** All fixtures, and documents by hand with the elements that these lack. */
export function structures(): Structure[] {
  return [
    ...readdirSync(fixtures).map(ofFixture),
    ...readdirSync(fixtures)
      .filter((file) => syntaxes[extname(file)] === 'bytes')
      .map((file) => compound(`parts-of-${file}`, readFileSync(join(fixtures, file)))),
    single('page.html', page),
    single('shown.html', shownPage),
    single('study.ipynb', notebook),
    single('feed.xml', feed),
    single('marked.pdf', markedPdf()),
    single('page.xhtml', page.replaceAll('<br>', '<br/>')),
    single('notes.md', markdown),
    single('notes.mdx', `export const a = {\n}\n\n${markdown}\n<A b={{ c: "}" }}>\n\ntext {1 + '}'}\n\n</A>\n`),
    single('mail.eml', mail.replaceAll('\n', '\r\n')),
    single('data.json', json),
    single('lines.jsonl', `${json}\n[1,\n"a"\n`),
    single('notes.rtf', rtf),
    single('drawn2.pdf', drawnPdf()),
    single('form.pdf', formPdf()),
    archive('notes.docx', word),
    archive('slides.pptx', slides),
    archive('text.odt', openDocument(odfText)),
    archive('sheet.ods', openDocument(odfSheet)),
    archive('slides.odp', openDocument(odfSlides)),
    archive('sheet.xlsx', workbook),
    archive('book.epub', book),
  ];
}
