import type { Block } from './block';
import { diagramBlocks } from './drawing-text';
import { chartBlocks } from './office-charts';
import type { Relation } from './office-relations';
import { attributeOf, descendants, parseXml, type XmlElement } from './xml-tree';
import type { Archive } from './zip';

/** Charts and diagrams of a part of an Office document, by the ids of their relations. */
export async function embeddedBlocks(archive: Archive, relations: Relation[]): Promise<Map<string, Block[]>> {
  const read = new Map<string, Block[]>();
  const found = new Map<string, Block[]>();
  for (const { id, type, target } of relations) {
    const isChart = type === 'chart' || type === 'chartEx';
    if ((!isChart && type !== 'diagramData') || !archive.has(target)) continue;
    let blocks = read.get(target);
    if (!blocks) {
      const part = await archive.read(target);
      blocks = isChart ? chartBlocks(part) : diagramBlocks(parseXml(part));
      read.set(target, blocks);
    }
    found.set(id, blocks);
  }
  return found;
}

/** Charts and diagrams in a frame. */
export function graphicBlocks(frame: XmlElement, embedded: ReadonlyMap<string, Block[]>): Block[] {
  const ids = [
    ...descendants(frame, 'chart').map((chart) => attributeOf(chart, 'id')),
    ...descendants(frame, 'relIds').map((diagram) => attributeOf(diagram, 'dm')),
  ];
  return ids.flatMap((id) => embedded.get(id ?? '') ?? []);
}
