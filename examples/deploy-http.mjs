/**
 * Deploys examples/http-integration and examples/http-bot to a running platform, and connects them with an HTTP service:
 * `node examples/deploy-http.mjs <url of the service> <secret>`. Prints the id of the bot.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const examples = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const { Client } = require('@botpress/client');
const bin = join(dirname(require.resolve('@botpress/cli/package.json')), 'bin.js');
const handle = 'default';

const [serviceUrl, secret] = process.argv.slice(2);
if (!serviceUrl || !secret) fail('Give the URL of the service, and a secret of at least 8 characters.');

const file = join(process.env.PARLEY_DATA_DIR ?? join(examples, '../.parley'), 'credentials.json');
const { url: apiUrl, workspaceId, token } = JSON.parse(readFileSync(file, 'utf8'));
const client = new Client({ apiUrl, workspaceId, token });

const { handle: current } = await client.getWorkspace({ id: workspaceId });
if (!current) await client.updateWorkspace({ id: workspaceId, handle });
else if (current !== handle)
  fail(`The workspace has the handle "${current}": change the import in examples/http-bot/src/index.ts to it.`);

bp('login', '--apiUrl', apiUrl, '--workspaceId', workspaceId, '--token', token);
bp('deploy', '--workDir', join(examples, 'http-integration'));
bp('add', `${handle}/http@1.0.0`, '--workDir', join(examples, 'http-bot'));
const printed = bp('deploy', '--createNewBot', '--workDir', join(examples, 'http-bot'));
const [, botId] = /Bot created with ID "(.*?)"/.exec(printed) ?? fail('The CLI printed no bot.');
const { bot } = await client.getBot({ id: botId });
const [installation] = Object.values(bot.integrations).filter(({ name }) => name.endsWith('/http'));
if (installation?.status !== 'registered') fail(`The integration is not registered: ${installation?.statusReason}`);
console.log(`Deployed the bot ${botId}. Its webhook is ${installation.webhookUrl}`);

function bp(...args) {
  const env = { ...process.env, SERVICE_URL: serviceUrl, SERVICE_SECRET: secret };
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args, '--confirm'], {
    env,
    encoding: 'utf8',
  });
  process.stdout.write(stdout);
  if (status !== 0) fail(`bp ${args[0]} failed:\n${stderr}`);
  return stdout;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
