import { attributeOf, type HtmlElement, writtenNameOf } from './html-tree';

/** Rules and classes that are looked at. */
const mostRules = 10_000;
const mostClasses = 20;
const simpleSelector = /^([a-z][\w-]*)?([.#]-?[_a-z][\w-]*)?$/i;
const declared = /(?:^|[;\s])display\s*:\s*([\w-]+)/gi;

/**
 * CSS `display` of elements: from their `style` attribute, or from rules of `<style>` for a tag, a class, an id, or a
 * tag with one of them. Rules within `@media` are ignored.
 */
export class DisplayRules {
  private readonly rules = new Map<string, string>();
  private readonly names = new Set<string>();

  add(sheet: string): void {
    const css = withoutComments(sheet);
    let at = 0;
    for (let open = css.indexOf('{'); open !== -1 && this.rules.size < mostRules; open = css.indexOf('{', at)) {
      const selectors = css.slice(at, open).split(';').at(-1)!.trim();
      if (selectors.startsWith('@')) {
        at = endOfBlock(css, open);
        continue;
      }
      const close = css.indexOf('}', open);
      at = close === -1 ? css.length : close + 1;
      const display = displayIn(css.slice(open + 1, at));
      if (!display) continue;
      for (const selector of selectors.split(',')) {
        const [simple, tag = '', name = ''] = simpleSelector.exec(selector.trim()) ?? [];
        if (!simple) continue;
        this.rules.set(tag.toLowerCase() + name, display);
        this.names.add(name);
      }
    }
  }

  of(element: HtmlElement): string | undefined {
    const style = element.attrs.length > 0 ? attributeOf(element, 'style') : undefined;
    const own = style === undefined ? undefined : displayIn(style);
    if (own || this.rules.size === 0) return own;
    const tag = writtenNameOf(element);
    return (element.attrs.length > 0 ? this.ofNames(element, tag) : undefined) ?? this.rules.get(tag);
  }

  private ofNames(element: HtmlElement, tag: string): string | undefined {
    const id = attributeOf(element, 'id');
    const byId = id === undefined ? undefined : this.ofName(`#${id}`, tag);
    const names = attributeOf(element, 'class');
    if (byId || names === undefined) return byId;
    for (const name of names.split(/\s+/, mostClasses)) {
      const display = this.ofName(`.${name}`, tag);
      if (display) return display;
    }
    return undefined;
  }

  private ofName(name: string, tag: string): string | undefined {
    // Most names have no rule.
    if (!this.names.has(name)) return undefined;
    return this.rules.get(tag + name) ?? this.rules.get(name);
  }
}

function displayIn(declarations: string): string | undefined {
  if (!declarations.includes(':')) return undefined;
  return [...declarations.matchAll(declared)].at(-1)?.[1]?.toLowerCase();
}

function withoutComments(css: string): string {
  const [first = '', ...others] = css.split('/*');
  return [first, ...others.map((part) => (part.includes('*/') ? part.slice(part.indexOf('*/') + 2) : ''))].join(' ');
}

function endOfBlock(css: string, open: number): number {
  const brace = /[{}]/g;
  brace.lastIndex = open;
  let depth = 0;
  for (let found = brace.exec(css); found; found = brace.exec(css)) {
    depth += found[0] === '{' ? 1 : -1;
    if (depth === 0) return brace.lastIndex;
  }
  return css.length;
}
