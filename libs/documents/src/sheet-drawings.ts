import type { Block } from './block';
import { BlockWriter } from './block-writer';
import { shapesIn, writeAlternativeText, writeParagraphs } from './drawing-text';
import { embeddedBlocks, graphicBlocks } from './office-embedded';
import { type Relation, relationsOf } from './office-relations';
import { childElements, parseXml } from './xml-tree';
import type { Archive } from './zip';

/** Text boxes, shapes, pictures, charts and diagrams of a sheet. */
export async function drawingBlocks(archive: Archive, relations: Relation[]): Promise<Block[]> {
  const writer = new BlockWriter();
  for (const { type, target } of relations) {
    if (type !== 'drawing' || !archive.has(target)) continue;
    const embedded = await embeddedBlocks(archive, await relationsOf(archive, target));
    const anchors = childElements(parseXml(await archive.read(target))).filter(({ name }) => name.endsWith('nchor'));
    for (const shape of anchors.flatMap(shapesIn)) {
      writeAlternativeText(writer, shape);
      writeParagraphs(writer, shape, { bullets: false });
      if (shape.name === 'graphicFrame') for (const block of graphicBlocks(shape, embedded)) writer.write(block);
    }
  }
  return writer.blocks();
}
