import { posix } from 'node:path';
import { parseXml, type XmlElement, childElements } from './xml-tree';
import type { Archive } from './zip';

export interface Relation {
  id: string;
  /** Last segment of the relationship type, such as `slide`. */
  type: string;
  target: string;
}

/** Relationships of a part of an Office document, without external targets. */
export async function relationsOf(archive: Archive, part: string): Promise<Relation[]> {
  const name = posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`);
  if (!archive.has(name)) return [];
  return childElements(parseXml(await archive.read(name)), 'Relationship')
    .filter(({ attributes }) => attributes.TargetMode !== 'External' && attributes.Target)
    .map(({ attributes: { Id = '', Type = '', Target } }) => ({
      id: Id,
      type: Type.slice(Type.lastIndexOf('/') + 1),
      target: posix.resolve('/', posix.dirname(part), Target!).slice(1),
    }));
}

export async function mainPart(archive: Archive, otherwise: string): Promise<string> {
  const relations = await relationsOf(archive, '');
  return relations.find(({ type }) => type === 'officeDocument')?.target ?? otherwise;
}

/** Attribute `r:id` with any prefix. A bare `id` is a different attribute. */
export function relationId({ attributes }: Pick<XmlElement, 'attributes'>): string | undefined {
  return Object.entries(attributes).find(([name]) => name.endsWith(':id'))?.[1];
}
