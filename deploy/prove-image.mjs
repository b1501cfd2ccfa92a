// Does what `docker build` does, where there is no Docker: every step of the Dockerfile, in clean folders, from what is
// committed; then starts the apps from the result as the image does. Ends with an error when a step fails or an app does
// not start as it should. Root only: the apps run as the user of the image, on a file system that cannot be written to.
//
//   npm run prove-image [-- <app> …]
//
// Folders stand for stages, and `/app` is a folder in them, so steps have to use relative paths. Node is the one that runs
// this script: `npx --package node@22.21.1 node deploy/prove-image.mjs` takes that of the image.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const workdir = '/app';
const patienceMs = 60_000;
/** One of each kind: with no optional package, with some, and with all. */
const apps = process.argv.length > 2 ? process.argv.slice(2) : ['gateway', 'files-worker', 'standalone', 'cli'];
const dockerfile = parse(readFileSync(join(root, 'Dockerfile'), 'utf8'));

/** What each instruction does to the folder of a stage. */
const instructions = {
  ARG: (image, rest, app) => {
    if (rest === 'APP') image.arguments = { APP: app };
  },
  WORKDIR: (_image, rest) => {
    if (rest !== workdir) fail(`WORKDIR has to be ${workdir}.`);
  },
  ENV: (image, rest) => {
    for (const pair of rest.split(/\s+/)) {
      const [name, value] = pair.split('=');
      image.env[name] = value;
    }
  },
  COPY: (image, rest, app) => {
    const [from, ...paths] = rest.startsWith('--from=') ? rest.split(/\s+/) : ['', ...rest.split(/\s+/)];
    const stage = from && dockerfile.find(({ name }) => name === from.replace('--from=', ''));
    const source = stage ? buildStage(stage, app).folder : context;
    const target = paths.pop();
    for (const path of paths) {
      const isFolder = target.endsWith('/') || target === '.';
      const place = path === '.' || !isFolder ? target : join(target, path);
      cpSync(join(source, path), join(image.folder, workdir, place), { recursive: true, verbatimSymlinks: true });
    }
  },
  RUN: (image, rest) => {
    const command = rest.replaceAll(/--mount=\S+\s*/g, '');
    const env = { PATH: path(), HOME: join(scratch, 'home'), npm_config_cache: npmCache(), ...image.arguments };
    // npm passes on what it was told about its registry to those that it runs.
    for (const [name, value] of Object.entries(process.env)) if (/^npm_config_registry$/i.test(name)) env[name] = value;
    run('sh', ['-c', command], { cwd: join(image.folder, workdir), env });
  },
  USER: (image, rest) => {
    const [uid, gid] = rest.split(':').map(Number);
    Object.assign(image, { uid, gid });
  },
  CMD: (image, rest) => {
    image.command = JSON.parse(rest);
  },
  EXPOSE: () => {},
  HEALTHCHECK: (image, rest) => {
    image.healthCheck = JSON.parse(/CMD (\[.*\])$/.exec(rest)[1]);
  },
};

if (process.getuid() !== 0) fail('Only root can start apps as another user on a file system that is read-only.');
const scratch = mkdtempSync(join(tmpdir(), 'parley-image-'));
chmodSync(scratch, 0o755);
let running;
process.on('exit', () => {
  running?.kill();
  rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

const context = join(scratch, 'context');
exportContext(context);
const built = new Map();
for (const app of apps) {
  const image = buildImage(app);
  say(`${app}: ${run('du', ['-sh', join(image.folder, workdir)]).split('\t')[0]}`);
  await proveApp(app, image);
}
say('Every step works.');

/** The stages of a Dockerfile, each with its base and its steps; a line that ends with \ goes on in the next. */
function parse(text) {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean);
  const stages = [];
  for (const line of lines) {
    const [, instruction, rest] = /^(\w+)\s+(.*)$/.exec(line);
    if (instruction === 'FROM') {
      const [base, , name] = rest.split(/\s+/);
      stages.push({ base, name, steps: [] });
    } else {
      stages.at(-1)?.steps.push({ instruction, rest });
    }
  }
  return stages;
}

/** What Docker would be sent: all that is committed, less what .dockerignore leaves out. */
function exportContext(folder) {
  mkdirSync(folder, { recursive: true });
  const rules = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const patterns = rules.filter((line) => line && !line.startsWith('#')).map(toPattern);
  const files = run('git', ['-C', root, 'ls-tree', '-r', '--name-only', '-z', 'HEAD']).split('\0').filter(Boolean);
  const sent = files.filter((file) => patterns.findLast(({ matches }) => matches.test(file))?.isSent ?? true);
  const archive = join(scratch, 'context.tar');
  run('git', ['-C', root, 'archive', '--output', archive, 'HEAD', ...sent]);
  run('tar', ['-x', '-f', archive, '-C', folder]);
  say(`The context has ${sent.length} of ${files.length} files.`);
}

function toPattern(rule) {
  const isSent = rule.startsWith('!');
  const source = rule
    .replace(/^!/, '')
    .replaceAll('.', '\\.')
    .replaceAll(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(.*/)?'));
  return { isSent, matches: new RegExp(`^${source}(/|$)`) };
}

function buildImage(app) {
  return buildStage(dockerfile.at(-1), app);
}

/** A stage that does not use APP is built once. Gives its folder and what its image is started with. */
function buildStage({ base, name, steps }, app) {
  const usesApp = steps.some(({ instruction, rest }) => instruction === 'ARG' && rest === 'APP');
  const key = `${name ?? 'image'}${usesApp ? `-${app}` : ''}`;
  if (built.has(key)) return built.get(key);

  const below = dockerfile.find((stage) => stage.name === base);
  const parent = below && buildStage(below, app);
  const folder = join(scratch, key);
  mkdirSync(join(folder, workdir), { recursive: true });
  if (parent) cpSync(parent.folder, folder, { recursive: true, verbatimSymlinks: true });
  const image = { folder, env: { ...parent?.env } };
  built.set(key, image);
  for (const { instruction, rest } of steps) {
    say(`[${key}] ${instruction} ${rest}`);
    instructions[instruction](image, rest, app);
  }
  return image;
}

/** Starts what the image starts, first without a configuration, then with one as far as it comes without servers. */
async function proveApp(app, image) {
  if (app === 'cli') {
    await expectOutput(image, [...image.command, 'token', 'generate'], {}, /^bp_pat_\w+$/m);
    await expectOutput(image, ['node', 'dist/apps/cli/src/migrate.js'], {}, /DATABASE_URL is missing/);
    return;
  }
  if (app === 'standalone') return proveStandalone(image);
  await expectOutput(image, image.command, {}, /NATS_URL is missing: it must be/);
  const nats = `nats://127.0.0.1:${await freePort()}`;
  await expectOutput(image, image.command, { ...configuration(), NATS_URL: nats }, /waiting for NATS at /);
  if (app === 'files-worker') {
    const canvas =
      "require('node:module').createRequire(require.resolve('pdfjs-dist/package.json'))('@napi-rs/canvas')";
    await expectOutput(image, ['node', '-e', `${canvas};console.log('pages can be drawn')`], {}, /pages can be drawn/);
  }
}

/** It needs nothing else, so it comes up as a whole, and its health check passes. */
async function proveStandalone(image) {
  const port = await freePort();
  const env = { PORT: String(port), HOST: '127.0.0.1' };
  await expectOutput(image, image.command, env, /Parley is ready/, async () => {
    const { status, stderr } = spawnSync(...asImage(image, image.healthCheck, env));
    if (status !== 0) fail(`The health check fails: ${stderr}`);
    say('standalone: the health check passes.');
  });
}

function configuration() {
  return {
    DATABASE_URL: 'postgres://127.0.0.1:1/parley',
    PARLEY_SECRET_KEY: randomBytes(32).toString('hex'),
    PUBLIC_URL: 'http://127.0.0.1',
    CONTENT_URL: 'http://127.0.0.1',
    S3_BUCKET: 'parley',
  };
}

/** Runs a program until it says what is expected, does what is to be done then, and stops it by SIGTERM. */
async function expectOutput(image, command, env, expected, then = () => {}) {
  const child = spawn(...asImage(image, command, env));
  running = child;
  let output = '';
  let hasEnded = false;
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  child.on('close', () => (hasEnded = true));
  const deadline = Date.now() + patienceMs;
  while (!expected.test(output)) {
    if (hasEnded || Date.now() > deadline) {
      child.kill('SIGKILL');
      fail(`${command.join(' ')} did not say ${expected}:\n${output}`);
    }
    await sleep(50);
  }
  say(`${command.join(' ')}: ${expected.exec(output)[0]}`);
  await then();
  child.kill('SIGTERM');
  while (!hasEnded && Date.now() < deadline) await sleep(50);
  if (!hasEnded) {
    child.kill('SIGKILL');
    fail(`${command.join(' ')} did not end after SIGTERM.`);
  }
}

/** As a container starts it: as its user, with a file system that is read-only but for /tmp and the data folder. */
function asImage(image, command, env) {
  const script = [
    // /tmp is to be empty, and the image is in it: it gets another place first.
    'mount -t tmpfs tmpfs /mnt && mkdir /mnt/app',
    `mount --bind ${join(image.folder, workdir)} /mnt/app`,
    'mount --bind /mnt/app/data /mnt/app/data',
    'mount -o remount,ro,bind /mnt/app',
    'mount -t tmpfs -o mode=1777 tmpfs /tmp && mount -t tmpfs -o mode=1777 tmpfs /dev/shm',
    'mount -o remount,ro,bind /',
    'cd /mnt/app',
    `exec setpriv --reuid ${image.uid} --regid ${image.gid} --clear-groups --no-new-privs "$@"`,
  ].join(' && ');
  const environment = { PATH: path(), ...image.env, PARLEY_DATA_DIR: '/mnt/app/data', ...env };
  return ['unshare', ['--mount', 'sh', '-c', script, 'sh', ...command], { env: environment, encoding: 'utf8' }];
}

function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (status !== 0) fail(`${program} ${args.join(' ')} failed:\n${error?.message ?? ''}${stdout}${stderr}`);
  return stdout;
}

/** The Node that runs this comes first. */
function path() {
  return `${dirname(process.execPath)}:${process.env.PATH}`;
}

function npmCache() {
  return run('npm', ['config', 'get', 'cache']).trim();
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function fail(problem) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
