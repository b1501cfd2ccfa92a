import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { memoryAndCheckpoints } from '@parley/local-postgres/server';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { connect, nkeyAuthenticator, nkeys } from 'nats';
import { parse } from 'yaml';
import { apps, complaintsAbout, jobs, optionalOf } from './configurations';

interface Service {
  image: string;
  build?: { args: { APP: string } };
  command?: string[];
  user?: string;
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  ports?: string[];
  volumes?: string[];
  tmpfs?: string[];
  networks: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  privileged?: boolean;
  healthcheck?: { test?: string[] };
}

interface Composition {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  networks: Record<string, { internal?: boolean } | null>;
}

/** The images of these servers run as root, here without capabilities. */
const rootWithoutCapabilities = ['nats', 'minio'];
/** Optional variables that the compose file sets itself rather than from `.env`, with the reason. */
const decidedHere: Record<string, RegExp> = {
  'the image says where it listens': /^(HOST|PORT)$/,
  'stop_grace_period has to be longer': /^SHUTDOWN_(GRACE|TIMEOUT)_MS$/,
  'there is one NATS server, and what apps show it is in the environment':
    /^NATS_(REPLICAS|NKEY_SEED(_FILE)?|(CA|CERT|KEY)_FILE)$/,
  'contents are in the bucket of this composition': /^(BLOBS_DIR|S3_\w+)$/,
  'Qdrant and the files service are those of this composition': /^(QDRANT_URL|FILES_URL)$/,
};
const source = JSON.stringify(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }));
const ours = [...apps, ...jobs];

let folder: string;
let secrets: Record<string, string>;
let composition: Composition;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-compose-'));
  makeEnv();
  const lines = readFileSync(join(folder, '.env'), 'utf8').split('\n');
  secrets = Object.fromEntries(lines.filter((line) => /^\w+=/.test(line)).map((line) => line.split('=')));
  composition = compose(secrets);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function makeEnv() {
  return execFileSync(process.execPath, [resolve('deploy/compose-env.mjs')], { cwd: folder, stdio: 'pipe' });
}

/** Parses the file as Compose does. Throws Compose's error when a required variable is not set. */
function compose(env: Record<string, string>): Composition {
  return JSON.parse(source, (_key, value: unknown) =>
    typeof value === 'string' ? interpolate(value, env) : value,
  ) as Composition;
}

function interpolate(text: string, env: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+):([-?])([^}]*)\}/g, (_whole, name: string, kind: string, rest: string) => {
    if (env[name]) return env[name];
    if (kind === '?') throw new Error(`${name}: ${rest}`);
    return rest;
  });
}

const each = (name: string) => composition.services[name]!;

it('names the command that creates a missing secret, and has no default for any', () => {
  // Only operators use the key of the NATS system account.
  const required = Object.keys(secrets).filter((name) => name !== 'NATS_SEED_SYS');
  for (const name of required) {
    const others = Object.fromEntries(Object.entries(secrets).filter(([other]) => other !== name));
    expect(() => compose(others)).toThrow(`${name}: run "node deploy/compose-env.mjs"`);
  }
});

it('creates secrets that only the owner can read, new ones each time, and never overwrites them', () => {
  const path = join(folder, '.env');
  const before = readFileSync(path, 'utf8');

  const again = spawnSync(process.execPath, [resolve('deploy/compose-env.mjs')], { cwd: folder, encoding: 'utf8' });

  expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('was not changed') });
  expect(readFileSync(path, 'utf8')).toBe(before);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  rmSync(path);
  makeEnv();
  expect(readFileSync(path, 'utf8')).not.toBe(before);
});

it('adds the NATS keys that an older file lacks, and changes nothing else in it', () => {
  const path = join(folder, '.env');
  const whole = readFileSync(path, 'utf8');
  const older = whole.replaceAll(/^NATS_(?:SEED|KEY)_MODELS=.*\n/gm, '');
  writeFileSync(path, older);

  makeEnv();

  const completed = readFileSync(path, 'utf8');
  expect(completed.slice(0, older.length)).toBe(older);
  expect(completed.slice(older.length)).toMatch(/^NATS_SEED_MODELS=SU\w+\nNATS_KEY_MODELS=U\w+\n$/);
});

it('gives each app its own NATS key', () => {
  const seedOf = (user: string) => secrets[`NATS_SEED_${user.toUpperCase().replace('-', '_')}`];

  for (const app of apps) expect([app, each(app).environment!['NATS_NKEY_SEED']]).toEqual([app, seedOf(app)]);
  expect(each('streams').environment!['NATS_NKEY_SEED']).toBe(seedOf('operator'));
});

(hasNatsServer() ? it : it.skip)('starts a NATS server that makes the streams and knows the apps', async () => {
  const { command, environment, volumes } = each('nats');
  const [here, there] = volumes!.find((volume) => volume.endsWith('/nats:ro'))!.split(':');
  const args = command!.map((word) => word.replace(there!, here!));
  const server = await NatsServer.startWith(args, environment!);
  try {
    const streams = spawnSync(process.execPath, each('streams').command!.slice(1), {
      env: { ...each('streams').environment, NATS_URL: server.url },
      encoding: 'utf8',
    });
    const knows = (seed: string) =>
      connect({
        servers: server.url,
        authenticator: nkeyAuthenticator(Buffer.from(seed)),
        maxReconnectAttempts: 0,
      }).then(
        (connection) => connection.close().then(() => true),
        () => false,
      );

    expect(streams).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('PARLEY') });
    for (const app of apps) expect([app, await knows(each(app).environment!['NATS_NKEY_SEED']!)]).toEqual([app, true]);
    expect(await knows(Buffer.from(nkeys.createUser().getSeed()).toString())).toBe(false);
  } finally {
    await server.stop();
  }
});

it('keeps temporary folders on disk rather than in memory', () => {
  const writers = apps.filter((app) => each(app).volumes?.includes('/tmp'));

  expect(writers).toEqual(['files', 'tables', 'runner']);
  expect(apps.filter((app) => each(app).tmpfs)).toEqual([]);
});

it('declares every app and job, each with its own program', () => {
  for (const app of apps) expect(each(app).build!.args.APP).toBe(app);
  for (const job of jobs) expect(each(job).command).toEqual(['node', `dist/apps/cli/src/${job}.js`]);
});

it('sets every required variable of each process and no unknown ones', () => {
  expect(ours.flatMap((name) => complaintsAbout(name, each(name).environment!))).toEqual([]);
});

it('passes every optional variable in .env to the apps that read it', () => {
  const wanted = (app: string) =>
    optionalOf(app).filter((name) => !Object.values(decidedHere).some((pattern) => pattern.test(name)));
  const set = Object.fromEntries(apps.flatMap(wanted).map((name) => [name, `${name} of the site`]));
  const { services } = compose({ ...set, ...secrets });
  const missing = apps.flatMap((app) =>
    wanted(app)
      .filter((name) => services[app]!.environment![name] !== (secrets[name] ?? set[name]))
      .map((name) => `${app}: ${name}`),
  );

  expect(missing).toEqual([]);
});

it('uses service names as hosts, and depends on each of them', () => {
  const wrong = Object.entries(composition.services).flatMap(([name, { environment = {}, depends_on = {} }]) =>
    Object.entries(environment)
      .filter(
        ([variable, value]) =>
          /^\w+:\/\//.test(value) && !['PUBLIC_URL', 'CONTENT_URL', 'WEBHOOK_URL'].includes(variable),
      )
      .map(([variable, value]) => ({ variable, host: new URL(value).hostname }))
      // The tables app needs the files app only for imports.
      .filter(({ variable, host }) => !composition.services[host] || !(host in depends_on || variable === 'FILES_URL'))
      .map(({ variable, host }) => `${name}: ${variable} names ${host}`),
  );

  expect(wrong).toEqual([]);
});

it('starts servers first, then migrations and streams, then services, then the gateway', () => {
  const once = [...jobs, 'bucket'];
  for (const [name, { depends_on = {} }] of Object.entries(composition.services)) {
    for (const [needed, { condition }] of Object.entries(depends_on)) {
      const right = once.includes(needed) ? 'service_completed_successfully' : 'service_healthy';
      expect(`${name} → ${needed}: ${condition}`).toBe(`${name} → ${needed}: ${right}`);
      // App images bring their own health check.
      if (right === 'service_healthy' && !apps.includes(needed)) expect(each(needed).healthcheck?.test).toBeDefined();
    }
  }
  const services = apps.filter((app) => app !== 'gateway');
  for (const app of services) expect(Object.keys(each(app).depends_on!)).toEqual(expect.arrayContaining(jobs));
  const behindTheGateway = services.filter((app) => app !== 'files-worker');
  expect(Object.keys(each('gateway').depends_on!)).toEqual(expect.arrayContaining(behindTheGateway));
});

it('publishes only the ports of the gateway, its tunnel and of the content address, on the loopback address', () => {
  const open = Object.entries(composition.services).filter(([, { ports }]) => ports);

  expect(open.map(([name, { ports }]) => [name, ports])).toEqual([
    ['files', ['127.0.0.1:3001:3000']],
    ['gateway', ['127.0.0.1:3000:3000', '127.0.0.1:3100:3100']],
  ]);
  for (const internal of ['stores', 'bus']) expect(composition.networks[internal]).toEqual({ internal: true });
  for (const store of ['postgres', 'qdrant', 'minio']) expect(each(store).networks).toEqual(['stores']);
  expect(each('nats').networks).toEqual(['stores', 'bus']);
  // Code of bots reaches no store.
  expect(each('runner').networks).toEqual(['bus', 'default']);
});

it('runs no container with root capabilities or a writable file system', () => {
  for (const [name, service] of Object.entries(composition.services)) {
    expect([name, service.read_only, service.cap_drop, service.security_opt, service.privileged]).toEqual([
      name,
      true,
      ['ALL'],
      ['no-new-privileges:true'],
      undefined,
    ]);
    // App images set their own user.
    if (ours.includes(name)) expect(service.user).toBeUndefined();
    else if (!rootWithoutCapabilities.includes(name)) expect(service.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  }
});

it('keeps data in volumes, and pins the version of every image', () => {
  for (const [name, { image }] of Object.entries(composition.services)) {
    expect([name, image]).toEqual([name, expect.stringMatching(/:.*\d+([.-]\d+)+/)]);
  }
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  for (const name of ours) expect(each(name).image).toBe(`parley-${jobs.includes(name) ? 'cli' : name}:${version}`);
  const kept = Object.values(composition.services).flatMap(({ volumes = [] }) => volumes.map((v) => v.split(':')[0]));
  expect(kept).toEqual(expect.arrayContaining(Object.keys(composition.volumes)));
  expect(kept.filter((path) => path!.startsWith('./') && !existsSync(path!))).toEqual([]);
});

it('gives Postgres the memory and the checkpoints of embedded mode', () => {
  const settings = Object.entries(memoryAndCheckpoints).map(([name, value]) => `-c${name}=${value}`);

  expect(each('postgres').command).toEqual(expect.arrayContaining(settings));
});
