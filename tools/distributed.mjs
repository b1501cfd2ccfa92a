// Starts every app of the distributed mode on this machine as a separate process, with NATS_URL and DATABASE_URL. Uses
// free ports unless PORT (gateway), FILES_PORT and so on are set. Ctrl-C stops all. Waits for each app as long as its process
// lives, and says which ones it waits for.
//
// PARLEY_DATA_DIR (.parley-distributed) keeps the first token, the secret key and the content for the next run. For a
// NATS server with keys, set NATS_SEED_<APP> for each app, as `npm run parley -- nats keys` prints them; each app gets
// only its own. With STATE_FILE, writes the addresses as JSON when all apps are ready. INSPECT names an app that starts with a debugger.
import { randomBytes } from 'node:crypto';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onRuntime } from './runtime.cjs';

await onRuntime();
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const names = ['admin', 'hub', 'files', 'files-worker', 'tables', 'chat', 'models', 'runtime', 'runner', 'gateway'];
const reportMs = 10_000;
const apps = new Map();

for (const name of ['NATS_URL', 'DATABASE_URL']) {
  if (!process.env[name]) fail(`${name} is missing: set it to the URL of a running server.`);
}

const home = resolve(process.env.PARLEY_DATA_DIR ?? '.parley-distributed');
mkdirSync(home, { recursive: true, mode: 0o700 });
const token = kept('token', process.env.PARLEY_BOOTSTRAP_TOKEN, () =>
  run('cli/src/main.js', ['token', 'generate']).trim(),
);
// As in embedded mode: the current key in the first line, former keys below.
const [secretKey, ...keptFormerKeys] = process.env.PARLEY_SECRET_KEY
  ? [process.env.PARLEY_SECRET_KEY]
  : kept('secret.key', undefined, () => randomBytes(32).toString('base64url')).split(/\s+/);
const formerSecretKeys = [...keptFormerKeys, process.env.PARLEY_FORMER_SECRET_KEYS].filter(Boolean);
const ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await portOf(name)])));
const env = {
  ...process.env,
  HOST: '127.0.0.1',
  PUBLIC_URL: process.env.PUBLIC_URL ?? `http://127.0.0.1:${ports.gateway}`,
  CONTENT_URL: process.env.CONTENT_URL ?? `http://127.0.0.1:${ports.files}`,
  BLOBS_DIR: resolve(process.env.BLOBS_DIR ?? join(home, 'blobs')),
  PARLEY_SECRET_KEY: secretKey,
  PARLEY_FORMER_SECRET_KEYS: formerSecretKeys.join(','),
  PARLEY_BOOTSTRAP_TOKEN: token,
  // No rate limit: the machine has only one user.
  RATE_LIMIT_PER_SECOND: process.env.RATE_LIMIT_PER_SECOND || '0',
};
for (const name of Object.keys(env)) if (name.startsWith('NATS_SEED_')) delete env[name];
// All processes share this machine, so they cannot share one metrics port. They listen locally only, so PORT serves
// metrics.
delete env.METRICS_PORT;
mkdirSync(env.BLOBS_DIR, { recursive: true });
run('cli/src/migrate.js', []);
if (process.env.NATS_SEED_OPERATOR) run('cli/src/streams.js', [], keyOf('operator'));

let stopping = false;
const waiting = new Set(names);
const startedAt = Date.now();
for (const name of names) start(name);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);

const reports = setInterval(report, reportMs);
await Promise.all(names.map(ready));
clearInterval(reports);
const state = {
  url: `http://127.0.0.1:${ports.gateway}`,
  token,
  secretKey: env.PARLEY_SECRET_KEY,
  apps: Object.fromEntries(
    names.map((name) => [name, { pid: apps.get(name).pid, url: `http://127.0.0.1:${ports[name]}` }]),
  ),
};
if (process.env.STATE_FILE) {
  writeFileSync(`${process.env.STATE_FILE}.new`, JSON.stringify(state));
  renameSync(`${process.env.STATE_FILE}.new`, process.env.STATE_FILE);
}
process.stdout.write(`\n  Parley is ready at ${state.url}\n  Token  ${token}\n\n`);

function start(name) {
  const inspector = name === process.env.INSPECT ? ['--inspect'] : [];
  const child = spawn(process.execPath, [...inspector, join(root, `dist/apps/${name}/src/main.js`)], {
    env: { ...env, ...keyOf(name), PORT: String(ports[name]) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  apps.set(name, child);
  child.on('exit', (code, signal) => {
    apps.delete(name);
    if (stopping && apps.size === 0) process.exit(0);
    if (stopping) return;
    if (waiting.size > 0) fail(`${name} ended (${signal ?? code}) during the start: see above.`);
    process.stderr.write(`${name} ended (${signal ?? code})\n`);
  });
}

async function ready(name) {
  while (!(await isReady(name))) {
    // The end of the last app ends this process.
    if (stopping) return new Promise(() => undefined);
    await sleep(50);
  }
  waiting.delete(name);
}

/** False while it does not listen, and where it cuts the connection. */
async function isReady(name) {
  try {
    const response = await fetch(`http://127.0.0.1:${ports[name]}/readyz`);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

function report() {
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  if (!stopping) process.stderr.write(`Waiting since ${seconds} s for ${[...waiting].join(', ')} …\n`);
}

function stop() {
  if (stopping) return;
  stopping = true;
  if (apps.size === 0) process.exit(0);
  for (const child of apps.values()) child.kill('SIGTERM');
}

/** Value of the environment, or else of an earlier run, or else a new one that is stored. */
function kept(name, given, make) {
  if (given) return given;
  const path = join(home, name);
  if (!existsSync(path)) writeFileSync(path, `${make()}\n`, { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
}

function keyOf(name) {
  const seed = process.env[`NATS_SEED_${upperCase(name)}`];
  return seed ? { NATS_NKEY_SEED: seed } : {};
}

function upperCase(name) {
  return name.toUpperCase().replaceAll('-', '_');
}

function portOf(name) {
  const given = process.env[name === 'gateway' ? 'PORT' : `${upperCase(name)}_PORT`];
  return given ? Number(given) : freePort();
}

function run(script, args, key = {}) {
  const done = spawnSync(process.execPath, [join(root, 'dist/apps', script), ...args], {
    env: { ...process.env, ...key },
    encoding: 'utf8',
  });
  if (done.status !== 0) fail(`${done.stdout}${done.stderr}`);
  return done.stdout;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  for (const child of apps.values()) child.kill('SIGKILL');
  process.exit(1);
}

function freePort() {
  return new Promise((resolvePort) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolvePort(port));
    });
  });
}
