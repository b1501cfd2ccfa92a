import { answerWith, ModelServer } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;

beforeAll(async () => {
  upstream = await ModelServer.start();
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsUrl: upstream.url }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
});

async function leftovers(botId: string) {
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  return (await api.send(`GET /operator/models/bots/${botId}/leftovers`, { headers })).json as Record<string, number>;
}

it('erases calls, answers and sums of a deleted bot, also of a call that ends after it', async () => {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const generate = (content: string) =>
    api.send('POST /v2/cognitive/generate-text', { headers, json: { messages: [{ role: 'user', content }] } });
  await api.send('PUT /v1/ai/contents', { headers, json: { kept: true } });
  await generate('first');
  expect(await leftovers(bot.id)).toEqual({
    ...{ modelCalls: 1, storedAnswers: 1, modelSpends: 1, modelBudgets: 0 },
    modelContents: 2,
  });
  let goOn!: () => void;
  const more = new Promise<void>((resolve) => (goOn = resolve));
  upstream.answer = async (request, response) => {
    await more;
    await answerWith('late')(request, response);
  };
  upstream.requests.length = 0;
  const late = generate('second');
  await waitFor(() => upstream.requests.length === 1);

  await account.client.deleteBot({ id: bot.id });
  const none = { modelCalls: 0, storedAnswers: 0, modelSpends: 0, modelBudgets: 0, modelContents: 0 };
  await waitFor(
    () => leftovers(bot.id),
    ({ modelSpends }) => modelSpends === 0,
  );
  goOn();
  expect((await late).json.output).toBe('late');

  expect(await leftovers(bot.id)).toEqual(none);
  expect(await api.sql('SELECT reserved_tokens FROM models.spend WHERE scope_id = $1', [account.workspaceId])).toEqual([
    { reserved_tokens: '0' },
  ]);
});
