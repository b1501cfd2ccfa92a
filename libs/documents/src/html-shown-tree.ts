import type { DefaultTreeAdapterTypes } from 'parse5';
import { attributeOf, type HtmlElement, type HtmlNode, isHtml, parseHtmlTree } from './html-tree';

/** Pages within pages: each is parsed again, so their depth multiplies the time. */
const deepestPage = 4;
/** Notices to readers without scripts or frames are shorter than this. */
const longestNotice = 300;
const notice = /java\s?script|\bbrowser|\bnavigateur|\bnavegador/i;

/**
 * Turns the tree of a page into the tree that is shown: declarative shadow trees with their slots filled, `srcdoc` of
 * frames, and content for readers without scripts or frames, but not a notice that asks for them. Takes linear time.
 */
export function showTree(root: HtmlNode, onStyle: (css: string) => void): void {
  const pending: { node: HtmlNode; page: number }[] = [{ node: root, page: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { node } = next;
    let { page } = next;
    if ('tagName' in node && isHtml(node)) {
      if (node.tagName === 'style') onStyle(rawText(node));
      const inner = page < deepestPage ? innerPage(node) : undefined;
      if (inner !== undefined) {
        page++;
        adopt(node, parseHtmlTree(inner, { xhtml: false }));
      } else showShadow(node);
    }
    if (!('childNodes' in node)) continue;
    const isHead = 'tagName' in node && node.tagName === 'head';
    for (const child of node.childNodes)
      if ('childNodes' in child && (!isHead || child.tagName === 'style')) pending.push({ node: child, page });
  }
}

function innerPage(element: HtmlElement): string | undefined {
  if (element.tagName === 'iframe') return attributeOf(element, 'srcdoc');
  if (element.tagName !== 'noscript' && element.tagName !== 'noframes') return undefined;
  const text = rawText(element);
  return text.length < longestNotice && notice.test(text) ? undefined : text;
}

function rawText({ childNodes }: HtmlElement): string {
  return childNodes.map((child) => ('value' in child ? child.value : '')).join('');
}

function adopt(element: HtmlElement, page: HtmlNode): void {
  const isPhrase = element.tagName === 'noscript';
  const shown = isPhrase ? (bodyOf(page) ?? page) : page;
  // Pictures alone repeat those that a script loads.
  if (isPhrase && !hasText(shown)) return;
  element.tagName = isPhrase ? 'span' : 'div';
  element.childNodes = 'childNodes' in shown ? shown.childNodes : [];
  for (const child of element.childNodes) child.parentNode = element;
}

function bodyOf(page: HtmlNode): HtmlNode | undefined {
  const root = 'childNodes' in page ? page.childNodes.find((node) => 'tagName' in node) : undefined;
  return root?.childNodes.find((node) => 'tagName' in node && node.tagName === 'body');
}

function hasText(page: HtmlNode): boolean {
  const pending = [page];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if ('value' in node && node.value.trim() !== '') return true;
    if ('childNodes' in node) for (const child of node.childNodes) pending.push(child);
  }
  return false;
}

/** Children without a slot are not shown. A second slot of the same name shows its fallback, as in browsers. */
function showShadow(host: HtmlElement): void {
  const template = host.childNodes.find(isShadow);
  if (!template) return;
  const assigned = new Map<string, HtmlElement['childNodes']>();
  for (const child of host.childNodes) {
    if (child === template) continue;
    const slot = ('attrs' in child && attributeOf(child, 'slot')) || '';
    const same = assigned.get(slot);
    if (same) same.push(child);
    else assigned.set(slot, [child]);
  }
  host.childNodes = template.content.childNodes;
  for (const child of host.childNodes) child.parentNode = host;
  const pending: HtmlNode[] = [...host.childNodes];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (!('childNodes' in node)) continue;
    const name = 'tagName' in node && node.tagName === 'slot' ? (attributeOf(node, 'name') ?? '') : undefined;
    const fill = name === undefined ? undefined : assigned.get(name);
    if (!fill || !fill.some(hasContent)) {
      for (const child of node.childNodes) pending.push(child);
      continue;
    }
    assigned.delete(name!);
    node.childNodes = fill;
    for (const child of fill) child.parentNode = node as HtmlElement;
  }
}

function hasContent(node: HtmlNode): boolean {
  return 'tagName' in node || ('value' in node && node.value.trim() !== '');
}

function isShadow(node: HtmlNode): node is DefaultTreeAdapterTypes.Template {
  return 'content' in node && /^(?:open|closed)$/i.test(attributeOf(node, 'shadowrootmode') ?? '');
}
