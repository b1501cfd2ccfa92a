import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { files } from '@parley/contracts/files';
import type { Embedder } from '@parley/passages/embedder';
import { documentTerms } from '@parley/passages/lexicon';
import type { PassageIndex } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import { BotFiles } from '@parley/testing/bot-files';
import { type RunningService, startService } from '@parley/testing/running-service';
import { FilesModule } from '../../../files/src/files.module';
import { FilesWorkerConfig } from '../config';
import { FilesWorkerModule } from '../files-worker.module';

let service: RunningService;
let blobsDir: string;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-bundled-'));
  const config = (databaseUrl: string) =>
    Object.assign(new FilesWorkerConfig(), { databaseUrl, databasePoolSize: 3, blobsDir });
  service = await startService(
    (databaseUrl, platform, contentUrl) =>
      FilesModule.register(
        Object.assign(config(databaseUrl), {
          contentUrl,
          secretKey: 's'.repeat(32),
          sweepIntervalMs: 200,
          maxUploadBytes: 1_000_000,
        }),
        platform,
      ),
    (databaseUrl, platform) => FilesWorkerModule.register(config(databaseUrl), platform),
  );
});
afterAll(async () => {
  service?.apps[0]?.getHttpServer()?.closeAllConnections();
  await service?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

it('finds a paraphrased passage with the bundled model, in another language too, and nothing for nonsense', async () => {
  const bot = new BotFiles(service);
  const page = `# House rules

## Pets
Dogs and cats are welcome in every room, as long as they are quiet at night.

## Payment
You can pay your bill with a credit card or in cash when you leave.

## Breakfast
We serve coffee, eggs and fresh bread from seven in the morning.
`;
  const { id } = await bot.upload('rules.md', page, {
    index: true,
    indexing: { configuration: { chunking: { maximumChunkLength: 120 } } },
  });
  expect(await bot.settled(id, 25_000)).toMatchObject({ status: 'indexing_completed' });
  const passages = await bot.passages(id);
  const worker = service.apps[1]!;
  const [model, points] = [
    worker.get<Embedder>(embedder, { strict: false }),
    worker.get<PassageIndex>(passageIndex, { strict: false }),
  ];

  const question = 'May I bring my puppy?';
  const [vector] = await model.embed([question]);
  const [best] = await points.search(bot.id, { vector: vector!, terms: documentTerms(question), limit: 1 });

  expect(passages.find((passage) => passage.id === best?.id)?.content).toContain('Dogs and cats');
  const ask = (query: string, minScore?: number) => bot.ask(files.search, { query, minScore, limit: 1 });
  const { leastScore, isCalibrated } = await ask(question);
  expect(isCalibrated).toBe(true);
  for (const good of [await ask('Darf ich meinen Hund mitbringen?'), await ask('Are dogs welcome?', leastScore)]) {
    expect(good.passages).toMatchObject([{ content: expect.stringContaining('Dogs and cats') as string }]);
  }
  expect((await ask('quantum chromodynamics of penguins', leastScore)).passages).toEqual([]);
});
