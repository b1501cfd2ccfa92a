import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { files } from '@parley/contracts/files';
import { BotFiles } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { sendTo } from '@parley/testing/public-api';
import { type RequestHandler, json, LoopbackServer } from '@parley/testing/loopback-server';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

const graphless = { m: 0, payload_m: 0 };
const well: RequestHandler = (request, response) => {
  const result = request.path.endsWith('/query/batch')
    ? [{ points: [] }]
    : { config: { hnsw_config: graphless }, count: 0 };
  return json({ result })(request, response);
};
const refuses = json({ status: { error: 'Invalid API key or JWT' } }, 401);

let service: RunningService;
let qdrant: LoopbackServer;
let embeddings: EmbeddingServer;
let blobsDir: string;
let answer: RequestHandler;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-qdrant-'));
  embeddings = await EmbeddingServer.start();
  qdrant = await LoopbackServer.start((request, response) => answer(request, response));
  answer = refuses;
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 5,
        blobsDir,
        contentUrl,
        secretKey: 's'.repeat(32),
        embeddingsUrl: embeddings.url,
        qdrantUrl: qdrant.url,
        qdrantApiKey: 'sk-of-qdrant',
        sweepIntervalMs: 3_600_000,
      }),
      platform,
    ),
  );
});
afterAll(async () => {
  await service?.stop();
  await qdrant?.close();
  await embeddings?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const readyz = async () => (await sendTo(service.url, 'GET /readyz')).json as { status: string; impaired?: object };
const search = (query = 'apple') => new BotFiles(service).ask(files.search, { query });

it('reports a wrong key of Qdrant, in answers and at /readyz, from the start until it is fixed', async () => {
  answer = refuses;

  const told = await waitFor(readyz, ({ impaired }) => impaired !== undefined);

  const reason = 'Qdrant refuses the key in QDRANT_API_KEY (401)';
  expect(told).toEqual({ status: 'ready', impaired: { 'passage index': reason } });
  const failure = await search().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 503,
    retryAfterSeconds: 1,
    message:
      'The passage index refuses the key of this platform. The operator of this platform has to set the right key.',
  });
  expect(JSON.stringify([told, failure])).not.toContain('sk-of-qdrant');
  answer = well;
  expect(await waitFor(readyz, ({ impaired }) => impaired === undefined)).toEqual({ status: 'ready' });
  expect(await search()).toEqual({ passages: [], isCalibrated: false });
});

// Waits for the timeout of a Qdrant search, 4 s.
it('answers 503 with Retry-After when Qdrant hangs, within the deadline of the operation', async () => {
  answer = (request, response) => (request.path.endsWith('/query/batch') ? undefined : well(request, response));

  await expect(search()).rejects.toMatchObject({
    code: 503,
    retryAfterSeconds: 1,
    message: 'The passage index does not answer in time. Try again in a moment.',
  });
});

// Waits for the timeout of a whole search, 8 s.
it('answers 503 with Retry-After when the embedding server hangs, within the deadline of the operation', async () => {
  answer = well;
  embeddings.order('hanging', 'never');

  await expect(search('hanging')).rejects.toMatchObject({ code: 503, retryAfterSeconds: 1 });
});
