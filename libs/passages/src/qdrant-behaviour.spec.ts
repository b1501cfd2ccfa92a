import { randomUUID } from 'node:crypto';
import { QdrantIndex } from './qdrant-index';
import { describePassageIndex, testEmbedder } from './test/passage-index.behaviour';

const url = process.env.QDRANT_TEST_URL;
if (!url) process.stderr.write('SKIPPED: the behaviour of the Qdrant adapter. Set QDRANT_TEST_URL to run it.\n');

(url ? describe : describe.skip)('against the Qdrant at QDRANT_TEST_URL', () => {
  // A collection of its own for each run: Qdrant's IDF counts the whole collection.
  const embedder = { ...testEmbedder, model: `test-${randomUUID()}` };
  let index: QdrantIndex;
  beforeAll(async () => {
    index = new QdrantIndex({ url: url!, apiKey: process.env.QDRANT_API_KEY, embedder });
    await index.ready();
  });

  describePassageIndex(() => index);
});
