import {
  type DefaultTreeAdapterMap,
  type DefaultTreeAdapterTypes,
  Parser,
  type Token,
  defaultTreeAdapter,
  html,
} from 'parse5';

export type HtmlNode = DefaultTreeAdapterTypes.Node;
export type HtmlElement = DefaultTreeAdapterTypes.Element;

/** Maximum element depth, as in browsers. Deeper elements are flattened. */
const deepest = 512;
const mostAttributes = 200;

/** Formatting elements, parsed as `span`: parse5 would reopen unclosed ones in each paragraph. */
const formatting = new Set(
  'a b big code em font i nobr s small strike strong tt u'.split(' ').map((name) => html.getTagID(name)),
);

/** Attribute with the name that a formatting element had: no source can write it. */
const writtenName = ' name';

/** Elements with raw text for the tokenizer: the parser must see them at any depth. */
const rawText = new Set(['iframe', 'noembed', 'noframes', 'noscript', 'script', 'style', 'textarea', 'title', 'xmp']);
const empty = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'param',
  'source',
  'td',
  'th',
  'wbr',
]);

/**
 * HTML tree by parse5 in linear time and memory. Unbounded parse5 takes minutes for 100,000 nested elements, and
 * gigabytes for a few thousand unclosed `<font>`. The bounds never lose text. With `xhtml`, self-closing tags are
 * honoured.
 */
export function parseHtmlTree(source: string, { xhtml }: { xhtml: boolean }): HtmlNode {
  const parser = new BoundedParser(xhtml);
  parser.tokenizer.write(source, true);
  return parser.document;
}

/**
 * Foster parenting moves misplaced table content before the table. parse5 searches the table from the first sibling;
 * this adapter searches from the last, where it is.
 */
const treeAdapter: typeof defaultTreeAdapter = {
  ...defaultTreeAdapter,
  insertBefore(parent, node, reference) {
    parent.childNodes.splice(parent.childNodes.lastIndexOf(reference), 0, node);
    node.parentNode = parent;
  },
  insertTextBefore(parent, text, reference) {
    const before = parent.childNodes[parent.childNodes.lastIndexOf(reference) - 1];
    if (before && defaultTreeAdapter.isTextNode(before)) before.value += text;
    else treeAdapter.insertBefore(parent, defaultTreeAdapter.createTextNode(text), reference);
  },
};

class BoundedParser extends Parser<DefaultTreeAdapterMap> {
  private readonly skipped = new Map<string, number>();

  constructor(private readonly xhtml: boolean) {
    super({ treeAdapter });
    boundAttributes(this.tokenizer);
  }

  override onStartTag(token: Token.TagToken): void {
    if (this.xhtml && token.selfClosing && !empty.has(token.tagName)) return;
    this.readFormattingAsSpan(token);
    if (this.openElements.stackTop >= deepest && !rawText.has(token.tagName) && !empty.has(token.tagName)) {
      this.skipped.set(token.tagName, (this.skipped.get(token.tagName) ?? 0) + 1);
      return;
    }
    super.onStartTag(token);
  }

  override onEndTag(token: Token.TagToken): void {
    this.readFormattingAsSpan(token);
    const skipped = this.skipped.get(token.tagName);
    if (skipped) this.skipped.set(token.tagName, skipped - 1);
    else super.onEndTag(token);
  }

  private readFormattingAsSpan(token: Token.TagToken): void {
    if (!formatting.has(token.tagID)) return;
    // A span would end the drawing in which the link is.
    if (token.tagID === html.TAG_ID.A && this.isForeign()) return;
    token.attrs.push({ name: writtenName, value: token.tagName });
    token.tagName = 'span';
    token.tagID = html.TAG_ID.SPAN;
  }

  private isForeign(): boolean {
    const { current } = this.openElements;
    return current !== undefined && 'namespaceURI' in current && !isHtml(current);
  }
}

/** Name of the element in the source. */
export function writtenNameOf(element: HtmlElement): string {
  return (element.tagName === 'span' && attributeOf(element, writtenName)) || element.tagName;
}

export function isHtml({ namespaceURI }: HtmlElement): boolean {
  return namespaceURI === html.NS.HTML;
}

export function attributeOf({ attrs }: HtmlElement, name: string): string | undefined {
  return attrs.find((attribute) => attribute.name === name)?.value;
}

/** Limits the attributes of a tag: the tokenizer compares each attribute with all previous ones, which is quadratic. */
function boundAttributes(tokenizer: Parser<DefaultTreeAdapterMap>['tokenizer']): void {
  const keep = tokenizer['_leaveAttrName'].bind(tokenizer);
  tokenizer['_leaveAttrName'] = () => {
    const tag = tokenizer['currentToken'] as Token.TagToken;
    if (tag.attrs.length < mostAttributes) keep();
  };
}
