import { randomBytes } from 'node:crypto';
import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { Database } from '@parley/persistence/database';
import { SecretBox } from '@parley/secrets/secret-box';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { newToken, operatorToken } from '@parley/secrets/token';
import { clientOf } from '@parley/testing/api';
import { type Account, newAccount, sendTo } from '@parley/testing/public-api';
import { run } from '@parley/testing/running-platform';
import { type RunningService, startServiceOn } from '@parley/testing/running-service';
import { createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { AdminModule } from '../../apps/admin/src/admin.module';
import { AdminConfig } from '../../apps/admin/src/config';
import { GatewayConfig } from '../../apps/gateway/src/config';
import { GatewayModule } from '../../apps/gateway/src/gateway.module';
import { HubConfig } from '../../apps/hub/src/config';
import { HubModule } from '../../apps/hub/src/hub.module';
import { ModelsConfig } from '../../apps/models/src/config';
import { ModelsModule } from '../../apps/models/src/models.module';
import { RuntimeConfig } from '../../apps/runtime/src/config';
import { RuntimeModule } from '../../apps/runtime/src/runtime.module';

const [first, second, third] = Array.from({ length: 3 }, () => randomBytes(32).toString('base64url')) as [
  string,
  string,
  string,
];
const schema = { type: 'object', properties: { text: { type: 'string' } } };
/** More than the batch size of the re-encryption (50). */
const botCount = 55;

let database: EmptyDatabase;
let postgres: Database;

beforeAll(async () => {
  database = await createEmptyDatabase();
  postgres = await Database.open({ url: database.url, schema: 'public', migrations: [], poolSize: 1 });
});

afterAll(async () => {
  await postgres?.close();
  await database?.drop();
});

function start(secretKey: string, ...formerSecretKeys: string[]): Promise<RunningService> {
  const bootstrapToken = newToken('pat');
  const settings = (databaseUrl: string, publicUrl: string) => ({
    ...{ databaseUrl, publicUrl, bootstrapToken, databasePoolSize: 5 },
    ...{ secretKey, formerSecretKeys },
  });
  return startServiceOn(
    database.url,
    (_url, platform) => GatewayModule.register(new GatewayConfig(), platform),
    (url, platform, at) => AdminModule.register(Object.assign(new AdminConfig(), settings(url, at)), platform),
    (url, platform, at) => HubModule.register(Object.assign(new HubConfig(), settings(url, at)), platform),
    (url, platform, at) => ModelsModule.register(Object.assign(new ModelsConfig(), settings(url, at)), platform),
    (url, platform, at) => RuntimeModule.register(Object.assign(new RuntimeConfig(), settings(url, at)), platform),
  );
}

async function rotate(service: RunningService, secretKey: string) {
  const env = { PARLEY_URL: service.url, PARLEY_SECRET_KEY: secretKey };
  const command = run('dist/apps/cli/src/main.js', env, ['secrets', 'rotate']);
  await command.ended;
  return command.output();
}

/** All stored secrets, decrypted, by their place. Throws when the keys do not decrypt one. */
async function openAll(...keys: [string, ...string[]]): Promise<Record<string, string>> {
  const rows = await postgres.query<{ place: string; sealed: string }>(`
    SELECT 'bot ' || id AS place, signing_secret AS sealed FROM admin.bot
    UNION ALL SELECT 'secret ' || id || key, value FROM admin.bot, jsonb_each_text(secrets)
    UNION ALL SELECT 'former ' || bot_id, secret FROM admin.bot_former_signing_secret
    UNION ALL SELECT 'installation ' || bot_id || alias, configuration FROM admin.installation WHERE configuration IS NOT NULL
    UNION ALL SELECT 'plugin ' || bot_id || alias, configuration FROM admin.bot_plugin
    UNION ALL SELECT 'provider ' || id, sealed_key FROM models.provider WHERE sealed_key IS NOT NULL
    UNION ALL SELECT 'integration ' || id, signing_secret FROM hub.integration WHERE signing_secret <> ''
    UNION ALL SELECT 'previous ' || id, previous_signing_secret FROM hub.integration WHERE previous_signing_secret IS NOT NULL
    UNION ALL SELECT 'secret ' || id || key, value FROM hub.integration, jsonb_each_text(secrets)
    UNION ALL SELECT 'recording ' || id, key FROM runtime.webhook_recording`);
  const [secretKey, ...formerSecretKeys] = keys;
  const box = new SecretBox(new SecretKeys({ secretKey, formerSecretKeys }));
  return Object.fromEntries(rows.map(({ place, sealed }) => [place, box.open(sealed)]));
}

async function fill(service: RunningService): Promise<{ account: Account; botIds: string[] }> {
  const account = await newAccount(service.url, operatorToken(first));
  const { client } = account;
  const { integration } = await client.createIntegration({
    ...{ name: `kettle-${randomBytes(4).toString('hex')}`, version: '1.0.0', configuration: { schema } },
    secrets: { KEY: 'of the integration' },
  });
  await client.rotateIntegrationSigningSecrets({ id: integration.id });
  const { plugin } = await client.createPlugin({
    ...{ name: `helper-${randomBytes(4).toString('hex')}`, version: '1.0.0', code: { node: 'x', browser: 'x' } },
    configuration: { schema },
  });
  const botIds: string[] = [];
  for (let count = 0; count < botCount; count += 1) {
    botIds.push((await client.createBot({ secrets: { KEY: `key ${count}`, OTHER: 'other' } })).bot.id);
  }
  botIds.sort();
  await client.updateBot({
    id: botIds[0]!,
    integrations: { [integration.id]: { enabled: true, configuration: { text: 'of the installation' } } },
    plugins: { helper: { id: plugin.id, configuration: { text: 'of the plugin' } } },
  });
  await client.rotateBotSigningSecrets({ id: botIds[0]! });
  const headers = { authorization: `Bearer ${operatorToken(first)}` };
  const provider = { url: 'https://models.example', key: 'sk-of-the-provider' };
  await sendTo(service.url, 'PUT /operator/models/providers/remote', { headers, json: provider });
  await record(service, account, botIds[0]!, integration.id);
  return { account, botIds };
}

/** Records the webhook requests of the installation, by a key of their own. */
async function record(service: RunningService, account: Account, botId: string, integrationId: string) {
  const [installed] = await postgres.query<{ alias: string }>(
    'SELECT alias FROM admin.installation WHERE bot_id = $1 AND integration_id = $2',
    [botId, integrationId],
  );
  const path = `/v1/admin/bots/${botId}/integrations/${installed!.alias}/webhook-recording`;
  const headers = { authorization: `Bearer ${account.token}`, 'x-workspace-id': account.workspaceId };
  const { status } = await sendTo(service.url, `PUT ${path}`, { headers, json: { enabled: true } });
  expect(status).toBe(200);
}

it('re-encrypts all secrets during writes and after an interruption, so that the former key can go', async () => {
  let service = await start(first);
  const { account, botIds } = await fill(service);
  // Earlier versions stored no key id.
  await postgres.query(`UPDATE admin.bot SET signing_secret = split_part(signing_secret, '.', 2) WHERE id < $1`, [
    botIds[10],
  ]);
  const before = await openAll(first);
  await service.stop();

  await expect(start(third)).rejects.toThrow(/PARLEY_SECRET_KEY has changed: \d+ secrets/);
  service = await start(second, first);
  const written: Record<string, string> = {};
  let isDone = false;
  const write = async (id: string) => {
    const client = clientOf({ ...account, url: service.url });
    for (let count = 0; !isDone || count < 3; count += 1) {
      await client.updateBot({ id, secrets: { NEW: `new ${count}` } });
      written[`secret ${id}NEW`] = `new ${count}`;
    }
  };
  const writers = [botIds[0]!, botIds[30]!, botIds.at(-1)!].map(write);
  // An interrupted run that has re-encrypted only the last bots.
  const half = await service.call(admin.sealedTexts.sealAnew, systemCaller('test'), { after: botIds[45]! });
  const output = await rotate(service, first);
  isDone = true;
  await Promise.all(writers);

  expect(half).toMatchObject({ sealed: 3 * 9, unreadable: [] });
  expect(output).toMatch(
    /admin: \d+ secrets encrypted again\nhub: 3 secrets encrypted again\nmodels: 1 secrets encrypted again\nruntime: 1 secrets encrypted again\n/,
  );
  expect(await openAll(second)).toEqual({ ...before, ...written });
  expect(await rotate(service, second)).toMatch(/admin: 0 secrets encrypted again\nhub: 0 secrets/);
  await service.stop();

  await expect(start(first)).rejects.toThrow(/PARLEY_SECRET_KEY has changed.*the key with the id/);
  service = await start(second);
  const { bot } = await clientOf({ ...account, url: service.url }).getBot({ id: botIds[5]! });
  expect(bot.signingSecret).toBe(before[`bot ${bot.id}`]);
  await service.stop();
});

it('names the bots whose secrets are encrypted with an unknown key', async () => {
  const service = await start(second);
  const { client } = await newAccount(service.url, operatorToken(second));
  const [lost, found] = [(await client.createBot({})).bot.id, (await client.createBot({})).bot.id];
  const unknown = `0123abcd.${'A'.repeat(60)}`;
  await postgres.query('UPDATE admin.bot SET signing_secret = $2 WHERE id = $1', [lost, unknown]);

  const output = await rotate(service, second);

  expect(output).toContain(`Secrets of these bots are encrypted with an unknown key: ${lost}. Add the key`);
  expect(output).not.toContain(found);
  await service.stop();
  await expect(start(second)).rejects.toThrow(/1 secrets .* under the key with the id 0123abcd/);
});
