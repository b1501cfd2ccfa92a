import type { Block } from './block';
import { commentBlock } from './office-comments';
import type { Relation } from './office-relations';
import { childElements, descendants, parseXml, scanTrees, textOf, type XmlElement } from './xml-tree';
import type { Archive } from './zip';

/** Notes and threaded comments of a sheet, with the addresses of their cells. */
export async function sheetComments(archive: Archive, own: Relation[], ofWorkbook: Relation[]): Promise<Block[]> {
  const readAll = async (relations: Relation[], type: string) => {
    const targets = relations.filter((one) => one.type === type && archive.has(one.target));
    const trees: XmlElement[] = [];
    for (const { target } of targets) trees.push(parseXml(await archive.read(target)));
    return trees;
  };
  const threads = (await readAll(own, 'threadedComment')).flatMap((tree) => childElements(tree, 'threadedComment'));
  const people = threads.length > 0 ? (await readAll(ofWorkbook, 'person')).flatMap((tree) => childElements(tree)) : [];
  const names = new Map(people.map(({ attributes }) => [attributes['id'], attributes['displayName']]));
  const threaded = new Set(threads.map(({ attributes }) => attributes['ref']));

  const notes: Block[] = [];
  for (const { type, target } of own) {
    if (type !== 'comments' || !archive.has(target)) continue;
    const authors: string[] = [];
    scanTrees(await archive.read(target), new Set(['author', 'comment']), (element) => {
      const { ref, authorId } = element.attributes;
      if (element.name === 'author') authors.push(textOf(element));
      // A note on the cell of a thread is its copy for older programs, which tells their users to update.
      else if (ref === undefined || !threaded.has(ref)) {
        const author = authors[Number(authorId)] ?? '';
        notes.push(commentBlock({ author, on: ref, text: noteText(element, author) }));
      }
    });
  }
  const comments = threads.map((thread) =>
    commentBlock({
      author: names.get(thread.attributes['personId']),
      on: thread.attributes['ref'],
      text: childElements(thread, 'text').map(textOf).join(''),
    }),
  );
  return [...notes, ...comments].filter(({ text }) => text !== '');
}

/** Excel begins notes with the name of their author. */
function noteText(note: XmlElement, author: string): string {
  const text = descendants(note, 't').map(textOf).join('').trim();
  return author !== '' && text.startsWith(`${author}:`) ? text.slice(author.length + 1).trim() : text;
}
