import { randomUUID } from 'node:crypto';
import { waitFor } from '@parley/testing/wait-for';
import { QdrantIndex } from './qdrant-index';
import { describeLargePassageIndex } from './test/large-index.behaviour';
import { describePassageIndex, testEmbedder } from './test/passage-index.behaviour';

const url = process.env.QDRANT_TEST_URL;
const apiKey = process.env.QDRANT_API_KEY;
if (!url) process.stderr.write('SKIPPED: the behaviour of the Qdrant adapter. Set QDRANT_TEST_URL to run it.\n');

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${url!.replace(/\/+$/, '')}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(apiKey && { 'api-key': apiKey }) },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

interface Collection {
  result: { status: string; config: { hnsw_config: { m: number; payload_m?: number | null } } };
}

async function nameOf(model: string): Promise<string> {
  const { result } = await ask<{ result: { collections: { name: string }[] } }>('GET', '/collections');
  return result.collections.map(({ name }) => name).find((name) => name.includes(model))!;
}

const isGreen = async (model: string) => {
  const path = `/collections/${await nameOf(model)}`;
  await waitFor(
    async () => (await ask<Collection>('GET', path)).result.status,
    (status) => status === 'green',
    900_000,
  );
};

(url ? describe : describe.skip)('against the Qdrant at QDRANT_TEST_URL', () => {
  describe('with a new collection', () => {
    const embedder = { ...testEmbedder, model: `test-${randomUUID()}` };
    let index: QdrantIndex;
    beforeAll(async () => {
      index = new QdrantIndex({ url: url!, apiKey, embedder });
      await index.ready();
    });
    afterAll(async () => ask('DELETE', `/collections/${await nameOf(embedder.model)}`));

    describePassageIndex(
      () => index,
      () => embedder,
    );
  });

  describe('with 50,000 points of 512 dimensions', () => {
    const embedder = { model: `large-${randomUUID()}`, dimensions: 512 };
    let index: QdrantIndex;
    beforeAll(async () => {
      index = new QdrantIndex({ url: url!, apiKey, embedder });
      await index.ready();
    });
    afterAll(async () => ask('DELETE', `/collections/${await nameOf(embedder.model)}`));

    describeLargePassageIndex({
      open: () => index,
      points: 50_000,
      dimensions: 512,
      perFile: 200,
      settled: () => isGreen(embedder.model),
    });
  });

  describe('with 50,000 points in a collection made by an earlier version', () => {
    const embedder = { model: `former-${randomUUID()}`, dimensions: 512 };
    let index: QdrantIndex;
    const hnsw = async () => {
      const { result } = await ask<Collection>('GET', `/collections/${await nameOf(embedder.model)}`);
      return { m: result.config.hnsw_config.m, payload_m: result.config.hnsw_config.payload_m };
    };
    beforeAll(async () => {
      index = new QdrantIndex({ url: url!, apiKey, embedder });
      await index.ready();
      await ask('PATCH', `/collections/${await nameOf(embedder.model)}`, { hnsw_config: { m: 0, payload_m: 16 } });
    });
    afterAll(async () => ask('DELETE', `/collections/${await nameOf(embedder.model)}`));

    describeLargePassageIndex({
      open: () => index,
      points: 50_000,
      dimensions: 512,
      perFile: 200,
      settled: () => isGreen(embedder.model),
    });

    it('removes the HNSW graphs of a collection made by an earlier version in ready()', async () => {
      expect(await hnsw()).toEqual({ m: 0, payload_m: 16 });

      await index.ready();

      expect(await hnsw()).toEqual({ m: 0, payload_m: 0 });
      await isGreen(embedder.model);
    }, 1_000_000);
  });
});
