import type { SaxesParser } from 'saxes';
import { UnreadableDocument } from './block';

const declaration = /<!ENTITY\s+(?:(%)\s+)?([^\s"'<>%]+)/y;
/** Documents declare these too, and the parser knows them. */
const predefined = new Set(['amp', 'apos', 'gt', 'lt', 'quot']);
const endOfDeclaration = /"[^"]*"|'[^']*'|>/g;

/**
 * Refuses a document that refers to an entity which it declares: entities are never expanded or fetched. Declarations
 * that are not used, of files that are not XML and of parts of the DTD are harmless.
 */
export function refuseEntities(parser: SaxesParser): void {
  parser.on('doctype', (doctype) => {
    for (const name of declaredEntities(doctype)) {
      Object.defineProperty(parser.ENTITIES, name, {
        get() {
          throw new UnreadableDocument(
            'The XML declares entities and refers to them, but they are not expanded. Replace them by their text and ' +
              'upload the file again.',
          );
        },
      });
    }
  });
}

function declaredEntities(doctype: string): Set<string> {
  const names = new Set<string>();
  for (let at = doctype.indexOf('<!ENTITY'); at !== -1; at = doctype.indexOf('<!ENTITY', at + 1)) {
    declaration.lastIndex = at;
    const [, parameter, name] = declaration.exec(doctype) ?? [];
    if (!name || parameter) continue;
    const start = declaration.lastIndex;
    at = endOf(doctype, start);
    if (!predefined.has(name) && !/\sNDATA\s/.test(doctype.slice(start, at))) names.add(name);
  }
  return names;
}

function endOf(doctype: string, start: number): number {
  endOfDeclaration.lastIndex = start;
  for (let found = endOfDeclaration.exec(doctype); found; found = endOfDeclaration.exec(doctype))
    if (found[0] === '>') return found.index;
  return doctype.length;
}
