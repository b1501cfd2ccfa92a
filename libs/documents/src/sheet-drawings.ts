import type { Block } from './block';
import { BlockWriter } from './block-writer';
import { shapesIn, writeAlternativeText, writeParagraphs } from './drawing-text';
import { embeddedBlocks, graphicBlocks } from './office-embedded';
import { type Relation, relationsOf } from './office-relations';
import { wholeNumber } from './whole-number';
import { childElements, elementAt, parseXml, textOf, type XmlElement } from './xml-tree';
import type { Archive } from './zip';

const lastPlace = 1_048_576;

/** Text boxes, shapes, pictures, charts and diagrams of a sheet. */
export async function drawingBlocks(archive: Archive, relations: Relation[]): Promise<Block[]> {
  const writer = new BlockWriter();
  for (const { type, target } of relations) {
    if (type !== 'drawing' || !archive.has(target)) continue;
    const embedded = await embeddedBlocks(archive, await relationsOf(archive, target));
    const anchors = childElements(parseXml(await archive.read(target))).filter(({ name }) => name.endsWith('nchor'));
    for (const shape of anchors.toSorted(byPlace).flatMap(shapesIn)) {
      writeAlternativeText(writer, shape);
      writeParagraphs(writer, shape, { bullets: false });
      if (shape.name === 'graphicFrame') for (const block of graphicBlocks(shape, embedded)) writer.write(block);
    }
  }
  return writer.blocks();
}

/** From the upper left; the file has them in the order in which they cover each other. */
function byPlace(a: XmlElement, b: XmlElement): number {
  return placeOf(a, 'row') - placeOf(b, 'row') || placeOf(a, 'col') - placeOf(b, 'col');
}

function placeOf(anchor: XmlElement, name: 'row' | 'col'): number {
  const place = elementAt(anchor, 'from', name);
  return place ? wholeNumber(textOf(place), { least: 0, most: lastPlace, otherwise: 0 }) : 0;
}
