import { alternativeText, paragraphText } from './drawing-text';
import { attributeOf, childElements, type XmlElement } from './xml-tree';

/** Texts of a drawing or an older picture of a Word document. */
export interface Drawing {
  /** Contents of text boxes. */
  boxes: XmlElement[];
  /** Relation ids of charts and diagrams. */
  embedded: string[];
  alternativeText: string;
}

const contents = new Set(['txbxContent', 'chart', 'relIds', 'txBody']);

export function drawingOf(element: XmlElement): Drawing {
  const drawing: Drawing = { boxes: [], embedded: [], alternativeText: '' };
  addTo(drawing, element);
  const hasText = drawing.boxes.length + drawing.embedded.length > 0;
  return hasText ? { ...drawing, alternativeText: '' } : drawing;
}

/** First alternative that has text of its own, else the last: Word draws for itself what it does not find in others. */
export function shownAlternative(alternatives: XmlElement): XmlElement | undefined {
  const all = childElements(alternatives).filter(({ name }) => name === 'Choice' || name === 'Fallback');
  return all.find(hasContent) ?? all.at(-1);
}

function hasContent(element: XmlElement): boolean {
  return childElements(element).some((child) => contents.has(child.name) || hasContent(child));
}

function addTo(drawing: Drawing, element: XmlElement): void {
  for (const child of childElements(element)) {
    const { name } = child;
    if (name === 'AlternateContent') {
      const shown = shownAlternative(child);
      if (shown) addTo(drawing, shown);
    } else if (name === 'txbxContent') drawing.boxes.push(child);
    else if (name === 'txBody') drawing.boxes.push(asBox(child));
    else if (name === 'chart') addEmbedded(drawing, attributeOf(child, 'id'));
    else if (name === 'relIds') addEmbedded(drawing, attributeOf(child, 'dm'));
    else {
      drawing.alternativeText ||= textBeside(child);
      addTo(drawing, child);
    }
  }
}

function addEmbedded(drawing: Drawing, id: string | undefined): void {
  if (id !== undefined) drawing.embedded.push(id);
}

/** Text that an element has in its attributes: description, or the word art of a watermark. */
function textBeside(element: XmlElement): string {
  const { name, attributes } = element;
  if (name === 'docPr' || name === 'cNvPr') return alternativeText(element);
  if (name === 'textpath') return attributes['string'] ?? '';
  if (name === 'imagedata') return alternativeText({ ...element, attributes: { title: attributes['o:title'] ?? '' } });
  return attributes['alt'] ?? '';
}

/** Text of a DrawingML shape as paragraphs of Word. */
function asBox(body: XmlElement): XmlElement {
  const paragraphs = childElements(body, 'p').map((paragraph) => {
    const text: XmlElement = { name: 't', attributes: {}, children: [paragraphText(paragraph)] };
    return { name: 'p', attributes: {}, children: [text] };
  });
  return { name: 'txbxContent', attributes: {}, children: paragraphs };
}
