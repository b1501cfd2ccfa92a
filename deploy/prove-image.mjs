// Reproduces `docker build` without Docker: runs every step of the Dockerfile in clean folders on the committed files,
// then starts the apps from the result as the image would. Exits with an error when a step fails or an app does not
// start as expected. Needs root: the apps run as the image's user on a read-only file system.
//
//     npm run prove-image [-- <app> …]
//
// Folders replace stages and `/app` is a folder in each, so steps must use relative paths. The Node of the packages stands for
// that of the image, which has the same version.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onRuntime } from '../tools/runtime.cjs';

await onRuntime();
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const workdir = '/app';
const patienceMs = 60_000;
/** One app of each kind: without optional packages, with some, with all. */
const apps = process.argv.length > 2 ? process.argv.slice(2) : ['gateway', 'files-worker', 'standalone', 'cli'];
/** Pages that the gateway serves, with their file below `dist`. */
const pages = [
  { path: '/console/', file: 'console/index.html', type: 'text/html' },
  { path: '/webchat/embed.js', file: 'webchat/embed.js', type: 'text/javascript' },
];
const dockerfile = parse(readFileSync(join(root, 'Dockerfile'), 'utf8'));

const instructions = {
  ARG: (image, rest, app) => {
    if (rest === 'APP') image.arguments = { APP: app };
  },
  WORKDIR: (_image, rest) => {
    if (rest !== workdir) fail(`WORKDIR must be ${workdir}.`);
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
      const place = path === '.' || !isFolder ? target : join(target, basename(path));
      cpSync(join(source, path), join(image.folder, workdir, place), { recursive: true, verbatimSymlinks: true });
    }
  },
  RUN: (image, rest) => {
    const command = rest.replaceAll(/--mount=\S+\s*/g, '');
    const env = { PATH: path(), HOME: join(scratch, 'home'), npm_config_cache: npmCache(), ...image.arguments };
    // npm passes its registry setting to child processes under this name.
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

if (process.getuid() !== 0)
  fail('This script must run as root: it starts apps as another user on a read-only file system.');
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
  if (existsSync(join(image.folder, workdir, 'node_modules/.bin/node'))) fail(`The image of ${app} has a second Node.`);
  say(`${app}: ${run('du', ['-sh', join(image.folder, workdir)]).split('\t')[0]}`);
  await proveApp(app, image);
}
say('All steps passed.');

/** Parses a Dockerfile into stages with their base image and steps; a trailing \ continues the line. */
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

/** Exports the Docker build context: all committed files except those that .dockerignore excludes. */
function exportContext(folder) {
  mkdirSync(folder, { recursive: true });
  const rules = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const patterns = rules.filter((line) => line && !line.startsWith('#')).map(toPattern);
  const files = run('git', ['-C', root, 'ls-tree', '-r', '--name-only', '-z', 'HEAD']).split('\0').filter(Boolean);
  const sent = files.filter((file) => patterns.findLast(({ matches }) => matches.test(file))?.isSent ?? true);
  const archive = join(scratch, 'context.tar');
  run('git', ['-C', root, 'archive', '--output', archive, 'HEAD', ...sent]);
  run('tar', ['-x', '-f', archive, '-C', folder]);
  say(`The build context has ${sent.length} of ${files.length} files.`);
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

/** Builds a stage, once unless it uses the argument APP. Returns its folder, environment, user and command. */
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

/** Starts the image's command without configuration, then with one, as far as it gets without servers. */
async function proveApp(app, image) {
  if (app === 'gateway') provePages(image);
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
    const ocr =
      "require('tesseract.js-core/tesseract-core-simd-lstm.js');" +
      "require('node:fs').accessSync(require.resolve('@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz'))";
    await expectOutput(image, ['node', '-e', `${ocr};console.log('pages can be read')`], {}, /pages can be read/);
  }
}

/** The standalone app needs no servers: it must become ready, pass its health check and serve the pages. */
async function proveStandalone(image) {
  const port = await freePort();
  const env = { PORT: String(port), HOST: '127.0.0.1' };
  await expectOutput(image, image.command, env, /Parley is ready/, async () => {
    const { status, stderr } = spawnSync(...asImage(image, image.healthCheck, env));
    if (status !== 0) fail(`The health check failed: ${stderr}`);
    say('standalone: health check passed.');
    await proveServed(`http://127.0.0.1:${port}`);
  });
}

/** The gateway serves pages from the image, and gets as far as that with servers only: their files must be there. */
function provePages(image) {
  for (const { file } of pages)
    if (!existsSync(join(image.folder, workdir, 'dist', file))) fail(`The image of the gateway has no dist/${file}.`);
  say(`gateway: the image has ${pages.map(({ file }) => file).join(' and ')}.`);
}

/** The console with its script, and the script of the web chat; a page that is not built answers another status. */
async function proveServed(url) {
  for (const { path, type } of pages) {
    const response = await fetch(`${url}${path}`);
    const text = await response.text();
    if (!response.ok || !response.headers.get('content-type')?.startsWith(type) || text === '')
      fail(`${path} answered ${response.status} ${response.headers.get('content-type')}:\n${text}`);
    const [script] = /\/console\/assets\/[\w-]+\.js/.exec(text) ?? [];
    if (path === '/console/' && !(script && (await fetch(`${url}${script}`)).ok))
      fail(`${path} has no script that is served:\n${text}`);
    say(`standalone: ${path} is served.`);
  }
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

/** Runs a program until its output matches, calls `then`, and stops it with SIGTERM. */
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
      fail(`${command.join(' ')} did not print ${expected}:\n${output}`);
    }
    await sleep(50);
  }
  say(`${command.join(' ')}: ${expected.exec(output)[0]}`);
  await then();
  child.kill('SIGTERM');
  while (!hasEnded && Date.now() < deadline) await sleep(50);
  if (!hasEnded) {
    child.kill('SIGKILL');
    fail(`${command.join(' ')} did not exit after SIGTERM.`);
  }
}

/** Command line of a container: the image's user, and a read-only file system except /tmp and the data folder. */
function asImage(image, command, env) {
  const script = [
    // /tmp becomes an empty tmpfs, but the image lies below it: bind it to /mnt/app first.
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
