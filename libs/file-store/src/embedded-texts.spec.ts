import { embeddedText, embeddedTexts } from './embedded-texts';

it.each([
  [['Top', 'Above'], 'Top > Above\n\nSub\n\ntext'],
  [['Top', 'Sub'], 'Top\n\nSub\n\ntext'],
  [['Su'], 'Su\n\nSub\n\ntext'],
  [[], 'Sub\n\ntext'],
])('has each title above a passage (%j) once', (breadcrumb, expected) => {
  const passage = { content: 'Sub\n\ntext', breadcrumb };

  expect(embeddedText(passage, { embedBreadcrumb: true })).toBe(expected);
  expect(embeddedText(passage, { embedBreadcrumb: false })).toBe(passage.content);
});

it('has the neighbours that are asked for, also those outside of the batch', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((content) => ({ content, breadcrumb: ['Top'] }));

  const texts = embeddedTexts([b!, c!], [a!], [d!], { chunking: { embeddedContextLevels: 1 } });

  expect(texts).toEqual(['a\n\nTop\n\nb\n\nc', 'b\n\nTop\n\nc\n\nd']);
});
