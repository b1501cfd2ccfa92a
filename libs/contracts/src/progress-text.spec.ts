import { indexingStages } from './indexing-work';
import { progressText } from './progress-text';

it.each([
  [{ stage: 'announced', percentage: 0, placeInLine: 3 }, 'waiting, place 3 in line'],
  [{ stage: 'announced', percentage: 0 }, 'waiting'],
  [{ stage: 'taken', percentage: 12, secondsLeft: 40 }, 'reading, 12 %, about 40 s of reading left'],
  [{ stage: 'parsed', percentage: 30 }, 'cutting into passages, 30 %'],
  [{ stage: 'embedding', percentage: 47, secondsLeft: 90 }, 'embedding and writing, 47 %, about 2 min left'],
  [{ stage: 'embedding', percentage: 1, secondsLeft: 7_200 }, 'embedding and writing, 1 %, about 2 h left'],
  [{ stage: 'switching', percentage: 99 }, 'becoming searchable, 99 %'],
] as const)('says the progress %j as "%s"', (progress, text) => {
  expect(progressText(progress)).toBe(text);
});

it('says each stage in words', () => {
  const texts = indexingStages.map((stage) => progressText({ stage, percentage: 5 }));

  expect(new Set(texts).size).toBe(indexingStages.length);
  for (const [i, text] of texts.entries()) expect(text).not.toBe(`${indexingStages[i]}, 5 %`);
});
