import { EmbeddingServer } from '@parley/testing/embedding-server';
import { json, LoopbackServer, type RequestHandler } from '@parley/testing/loopback-server';
import { configured, type PublicApi, sendTo, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import { TablesModule } from '../tables.module';

const prepared: RequestHandler = json({ result: { config: { hnsw_config: { m: 0, payload_m: 0 } }, count: 0 } });

let api: PublicApi;
let qdrant: LoopbackServer;
let embeddings: EmbeddingServer;

beforeAll(async () => {
  embeddings = await EmbeddingServer.start();
  qdrant = await LoopbackServer.start((request, response) =>
    /\/query(\/batch)?$/.test(request.path) ? undefined : prepared(request, response),
  );
  const service = configured(TablesModule, TablesConfig, { embeddingsUrl: embeddings.url, qdrantUrl: qdrant.url });
  api = await startPublicApi(GatewayModule, AdminModule, service);
});
afterAll(async () => {
  await api?.stop();
  await qdrant?.close();
  await embeddings?.stop();
});

// Waits for the timeout of a Qdrant search, 4 s.
it('answers a search with 503 and Retry-After when Qdrant hangs, within the deadline of the operation', async () => {
  const { client: owner, token, workspaceId } = await api.newAccount();
  const { bot } = await owner.createBot({});
  const schema = { type: 'object', properties: { text: { type: 'string', 'x-zui': { searchable: true } } } };
  await api.client(token, workspaceId, bot.id).createTable({ name: 'ProductsTable', schema });
  const headers = { authorization: `Bearer ${token}`, 'x-bot-id': bot.id };

  const response = await sendTo(api.url, 'POST /v1/tables/ProductsTable/rows/find', {
    headers,
    json: { search: 'apple' },
  });

  expect(response).toMatchObject({
    status: 503,
    json: { message: 'The passage index does not answer in time. Try again in a moment.' },
  });
  expect(response.headers).toMatchObject({ 'retry-after': '1' });
});
