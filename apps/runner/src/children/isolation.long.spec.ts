import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { constants, getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { workerFile } from '@parley/background/worker-file';
import { orphanedGroups } from '@parley/child-processes/limited-process';
import { statFieldsOf } from '@parley/child-processes/runnable-time';
import { LoopbackServer, json } from '@parley/testing/loopback-server';
import { makeCertificate } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import type { AllowedOrigin } from '../host/frames';
import type { CodeOutput } from '../logs/code-output';
import { BotChild, CallNotBegun } from './bot-child';
import { type IsolationMode, isolate, isolationModes } from './isolation';
import { bubblewrapProblem } from './isolation.service';
import { allowedOriginsOf, proxyEnvOf } from './proxies';
import type { TemporaryFolder } from './temporary-folder';

const program = workerFile(join(__dirname, '../host'), 'host.child');
const memoryMb = 96;
const hasChrt = spawnSync('chrt', ['--version']).status === 0;
const idlePolicy = '5';
const children: { child: BotChild; folder: TemporaryFolder }[] = [];
let place = 500;

interface StartOptions {
  env?: Record<string, string>;
  allowedOrigins?: AllowedOrigin[];
  certificates?: string[];
  proxyEnv?: Record<string, string>;
  mode?: IsolationMode;
}

async function start(
  code: string,
  { env = {}, allowedOrigins = [], mode = 'process', ...network }: StartOptions = {},
  onOutput: (output: CodeOutput) => void = () => undefined,
) {
  const { limits, env: ownEnv, folder } = await isolate(mode, program, (place += 1));
  const child = new BotChild(
    { ...limits, env: ownEnv, heapMb: memoryMb, residentMb: 2 * memoryMb, openFiles: 256, fileMb: 4 },
    onOutput,
  );
  children.push({ child, folder });
  await child.load({ code, env, allowedOrigins, ...network });
  return { child, folder };
}

const request = { method: 'POST', path: '/', query: '', headers: {}, body: '{}' };
const frame = { request, apiHeaders: {}, functionName: 'bot', functionVersion: '1', memoryMb, timeoutMs: 20_000 };
const call = (child: BotChild, body = '{}', timeoutMs = 20_000) =>
  child.invoke({ ...frame, request: { ...request, body }, timeoutMs }, () => undefined);

/** Runs the expression as the handler of a bundle, with everything that a bundle can reach. */
async function attempt(expression: string, options: StartOptions = {}): Promise<string> {
  const code = `
    const attack = async () => { ${expression} };
    exports.handler = () => attack().then((got) => 'got ' + String(got), (error) => 'refused: ' + (error.code ?? error.message))
      .then((body) => ({ status: 200, body }));`;
  const { child } = await start(code, options);
  return (await call(child)).body;
}

async function schedulingOf(pid: number): Promise<{ group?: string; session?: string; policy?: string }> {
  const fields = (await statFieldsOf(pid)) ?? [];
  return { group: fields[2], session: fields[3], policy: fields[38] };
}

afterEach(async () => {
  await Promise.all(
    children.splice(0).map(async ({ child, folder }) => {
      child.kill();
      await child.ended;
      await folder.remove();
    }),
  );
});

it('writes files in the temporary folder of the process, up to a size', async () => {
  const write = (bytes: number) =>
    `const fs = require('fs'), path = process.env.TMPDIR + '/own'; fs.writeFileSync(path, 'x'.repeat(${bytes}));
     return fs.statSync(path).size`;

  expect(await attempt(write(1_000))).toBe('got 1000');
  expect(await attempt(write(8_000_000)).catch((error: Error) => error.message)).not.toBe('got 8000000');
});

it('does not search the files of an idle process', async () => {
  const { child } = await start(`exports.handler = async () => {
    for (const end = Date.now() + 100; Date.now() < end; );
    return { status: 200 };
  }`);
  let searchedAt = 0;
  const usage = () => {
    searchedAt = performance.now();
    return Promise.resolve({ bytes: 0, files: 0 });
  };
  child.watchFolder({ usage, remove: () => Promise.resolve() });

  await waitFor(() => searchedAt > 0 && performance.now() - searchedAt > 1_500);
  const before = searchedAt;
  await call(child);
  await waitFor(() => searchedAt > before);
});

it('shows stack traces without files of the platform', async () => {
  const expression = `const trace = (error) => error.stack + '\\n'; const outer = () => { throw new TypeError('wrong') };
    const thrown = (call) => { try { return call() } catch (error) { return trace(error) } };
    return trace(new Error('made')) + thrown(outer) + thrown(() => require('net').connect({ host: 1, port: {} })) + (await fetch('x:').catch(trace))`;

  const stack = await attempt(expression);

  expect(stack).toContain('TypeError: wrong\n    at outer (');
  expect(stack).toContain('bot.cjs');
  expect(stack).not.toContain(join(__dirname, '../../../..'));
});

it('gives each process a user id of its own when the runner is root', async () => {
  const code = `exports.handler = () => ({ status: 200, body: String(process.getuid()) })`;
  const [{ child }, { child: sibling }] = [await start(code), await start(code)];

  const ids = [(await call(child)).body, (await call(sibling)).body];

  if (process.getuid!() === 0) expect(new Set([...ids, '0']).size).toBe(3);
  else expect(ids).toEqual([String(process.getuid!()), String(process.getuid!())]);
});

it('allows code to reach the address of the API, although it is private', async () => {
  const server = await LoopbackServer.start(json({ from: 'the server' }));
  const allowedOrigins = [{ hostname: '127.0.0.1', port: Number(new URL(server.url).port) }];

  const got = await attempt(`return fetch('${server.url}').then((answer) => answer.text())`, { allowedOrigins });

  await server.close();
  expect(got).toBe('got {"from":"the server"}');
});

it('answers without a body where the handler has none, and with header names in lower case', async () => {
  const { child } = await start(`exports.handler = () => ({ body: null, headers: { 'X-Name': 'Value', count: 5 } })`);

  expect(await call(child)).toEqual({ status: 200, body: '', headers: { 'x-name': 'Value', count: '5' } });
});

describe('resources', () => {
  it('ends a process that exceeds its memory', async () => {
    const { child } = await start(
      `exports.handler = () => { const all = []; for (;;) all.push('x'.repeat(1e6) + all.length) }`,
    );

    await expect(call(child)).rejects.toMatchObject({ failure: 'out of memory' });
  });

  it('ends a process that blocks its event loop at the time limit', async () => {
    const { child } = await start(`exports.handler = () => { for (;;); }`);

    await expect(call(child, '{}', 500)).rejects.toMatchObject({ failure: 'timed out' });
    await child.ended;
  });

  it('ends a process whose handler waits for ever at the time limit, after its other calls', async () => {
    const { child } = await start(
      `exports.handler = ({ body }) => body === 'slow' ? new Promise(() => {}) : new Promise((resolve) => setTimeout(resolve, 600))`,
    );

    const [slow, other] = await Promise.allSettled([call(child, 'slow', 300), call(child, 'other')]);

    expect(slow).toMatchObject({ reason: { failure: 'timed out' } });
    expect(other).toMatchObject({ value: { status: 200 } });
    await child.ended;
  });

  (process.platform === 'linux' ? it : it.skip)(
    'leaves the processor to other code first while code computes',
    async () => {
      const code = `exports.handler = ({ body }) => { if (body === 'compute') for (;;); return { status: 200 } }`;
      const [{ child }, { child: other }] = [await start(code), await start(code)];
      const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
      const usual = Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW);
      const computing = call(child, 'compute', 120_000).catch((error: Error) => error);

      await waitFor(() => getPriority(child.pid) === PRIORITY_LOW);

      expect(getPriority(other.pid)).toBe(usual);
      const policyOf = async ({ pid }: BotChild) => (await schedulingOf(pid!)).policy;
      if (hasChrt)
        await waitFor(
          () => policyOf(child),
          (policy) => policy === idlePolicy,
        );
      else process.stderr.write('The scheduling policy of code that computes is not tested: there is no chrt.\n');
      expect(await policyOf(other)).toBe('0');
      child.kill();
      await computing;
    },
  );

  it('lets the other calls end although two hit the time limit together', async () => {
    const { child } = await start(
      `exports.handler = ({ body }) => body === 'slow' ? new Promise(() => {}) : new Promise((resolve) => setTimeout(resolve, 1_800))`,
    );

    const calls = [call(child, 'slow', 300), call(child, 'slow', 300), call(child, 'other')];

    expect(await Promise.allSettled(calls)).toMatchObject([
      { reason: { failure: 'timed out' } },
      { reason: { failure: 'timed out' } },
      { value: { status: 200 } },
    ]);
  });

  it('distinguishes calls that a blocked process has not begun from those that it has', async () => {
    const { child } = await start(
      `exports.handler = ({ body }) => { if (body === 'block') for (;;); return new Promise(() => {}) }`,
    );

    const [begun, blocking, waiting] = await Promise.allSettled([
      ...[call(child, 'begun'), call(child, 'block', 500), call(child, 'waiting')],
    ]);

    expect([begun, blocking, waiting]).toMatchObject([
      { reason: { failure: 'crashed' } },
      { reason: { failure: 'timed out' } },
      { reason: { failure: 'crashed' } },
    ]);
    const isNotBegun = (call: PromiseSettledResult<unknown>) =>
      (call as PromiseRejectedResult).reason instanceof CallNotBegun;
    expect([isNotBegun(begun!), isNotBegun(waiting!)]).toEqual([false, true]);
  });

  it('limits open sockets and files of a process', async () => {
    const body = await attempt(`const fs = require('fs'); const open = [];
      for (let n = 0; n < 10000; n += 1) open.push(fs.openSync(process.env.TMPDIR + '/' + n, 'w')); return open.length`);

    expect(body).toBe('refused: EMFILE');
  });

  it('refuses an answer of a process that is too large', async () => {
    const { child } = await start(`exports.handler = () => ({ status: 200, body: 'x'.repeat(6e6) })`);

    await expect(call(child)).rejects.toMatchObject({ failure: 'too large' });
  });

  it('ends a process that floods the runner', async () => {
    const { child } = await start(`exports.handler = () => { const fs = require('fs'); const part = 'x'.repeat(1e6);
      const write = () => { for (;;) { try { fs.writeSync(4, part) } catch (error) { if (error.code === 'EAGAIN') return setImmediate(write); throw error } } };
      return new Promise(write) }`);

    await expect(call(child)).rejects.toMatchObject({ failure: 'crashed' });
  });
});

describe('messages', () => {
  it('accepts answers of a process only for its own calls', async () => {
    const { child: victim } = await start(
      `exports.handler = () => new Promise((resolve) => setTimeout(() => resolve({ status: 200, body: 'own' }), 300))`,
    );
    let id = '';
    const answer = victim.invoke(frame, (given) => (id = given));
    const { child } = await start(`exports.handler = ({ body }) => {
      const header = Buffer.from(JSON.stringify({ type: 'answered', id: body, status: 200 })), prefix = Buffer.alloc(8);
      prefix.writeUInt32BE(header.length, 0); prefix.writeUInt32BE(6, 4);
      require('fs').writeSync(4, Buffer.concat([prefix, header, Buffer.from('forged')])); return { status: 200 } }`);

    await call(child, id);

    expect((await answer).body).toBe('own');
  });

  it('ends a process that sends invalid messages', async () => {
    const { child } = await start(
      `exports.handler = () => { require('fs').writeSync(4, 'nonsense\\n'); return new Promise(() => {}) }`,
    );

    await expect(call(child)).rejects.toMatchObject({ failure: 'crashed' });
  });

  it('exchanges messages despite a polluted Object.prototype and replaced globals', async () => {
    const { child } = await start(`
      Object.prototype.status = 500; Object.prototype.toJSON = undefined; Object.prototype.id = 'x';
      JSON.parse = JSON.stringify = () => { throw new Error('replaced') }; globalThis.Promise = undefined;
      exports.handler = async () => ({ status: 200, body: 'fine' })`);

    expect(await call(child)).toEqual({ status: 200, body: 'fine' });
  });
});

describe('the code', () => {
  it.each([
    ['throws', `throw new Error('no database')`, /The code cannot be loaded: Error: no database/],
    ['has a syntax error', `const = 1`, /The code cannot be loaded/],
    ['exports nothing', ``, /exports no handler/],
    [
      'ends',
      `setTimeout(() => { throw new Error('later') }); const until = Date.now() + 5; while (Date.now() < until);`,
      /exports no handler/,
    ],
  ])('refuses code with a reason when it %s', async (_name, code, reason) => {
    await expect(start(code)).rejects.toMatchObject({
      failure: 'not loadable',
      message: expect.stringMatching(reason),
    });
  });

  it('accepts the default export of the SDK', async () => {
    const { child } = await start(
      `exports.default = { name: 'bot', handler() { return { status: 200, body: this.name } } }`,
    );

    expect((await call(child)).body).toBe('bot');
  });

  it('fails the calls of code that crashes with the reason', async () => {
    const { child } = await start(
      `exports.handler = () => new Promise(() => setTimeout(() => { throw new Error('boom') }))`,
    );

    await expect(call(child)).rejects.toMatchObject({ failure: 'crashed', message: expect.stringContaining('boom') });
  });

  it('prints output of code with the call that printed it', async () => {
    const outputs: CodeOutput[] = [];
    const { child } = await start(
      `exports.handler = async ({ body }) => { await null; console.log('log of ' + body); console.error('error of ' + body); return { status: 200 } }`,
      {},
      (output) => outputs.push(output),
    );
    const ids: string[] = [];

    await Promise.all(
      ['a', 'b'].map((body) => child.invoke({ ...frame, request: { ...request, body } }, (id) => ids.push(id))),
    );

    expect(outputs).toEqual(
      expect.arrayContaining([
        { invocationId: ids[0], stream: 'stdout', text: 'log of a\n', isOneWrite: true },
        { invocationId: ids[1], stream: 'stderr', text: 'error of b\n', isOneWrite: true },
      ]),
    );
  });
});

it.each(isolationModes)(
  "starts code in its own process group, in the runner's session for priorities, isolated by %s",
  async (mode) => {
    const problem = mode === 'bwrap' && (await bubblewrapProblem());
    if (problem) return void process.stderr.write(`The group under bubblewrap is not tested: ${problem.text}\n`);
    const code = `exports.handler = () => ({ status: 200 })`;

    const [{ child }, { child: sibling }] = [await start(code, { mode }), await start(code, { mode })];

    const { group, session } = await schedulingOf(process.pid);
    const [own, other] = await Promise.all([child, sibling].map(({ pid }) => schedulingOf(pid!)));
    expect(session).toMatch(/^\d+$/);
    expect([own!.session, other!.session]).toEqual([session, session]);
    expect(new Set([group, own!.group, other!.group]).size).toBe(3);
  },
);

describe('proxies and private certificate authorities', () => {
  let folder: string;
  let certificate: string;
  let site: Server;
  let proxy: Server;
  let proxyUrl: string;
  const proxied: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-proxy-'));
    const path = makeCertificate(folder);
    certificate = path ? await readFile(path, 'utf8') : '';
    const key = path ? await readFile(join(folder, 'key.pem')) : undefined;
    site = createTlsServer({ cert: certificate, key }, (_request, response) => response.end('the site'));
    proxy = createServer((request, response) => {
      proxied.push(`${request.method} ${request.url} ${request.headers['proxy-authorization']}`);
      response.end('by the proxy');
    });
    proxy.on('connect', ({ url, headers }: IncomingMessage, client: Socket) => {
      proxied.push(`CONNECT ${url} ${headers['proxy-authorization']}`);
      const upstream = connect((site.address() as AddressInfo).port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(client).pipe(upstream);
      });
      for (const [end, other] of [[client, upstream] as const, [upstream, client] as const])
        end.on('error', () => other.destroy());
    });
    for (const server of [site, proxy]) await once(server.listen(0, '127.0.0.1'), 'listening');
    proxyUrl = `http://user:password@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });

  beforeEach(() => proxied.splice(0));

  afterAll(async () => {
    for (const server of [site, proxy]) {
      server.closeAllConnections();
      await once(server.close(), 'close');
    }
    await rm(folder, { recursive: true });
  });

  const get = (url: string, options = '{}') => `
    const [url, options] = ['${url}', ${options}];
    const { get } = require(url.startsWith('https') ? 'https' : 'http');
    return new Promise((resolve, reject) => get(url, options, (answer) => answer.once('data', resolve)).on('error', reject));`;
  const fetchText = (url: string) =>
    `return fetch('${url}').then((answer) => answer.text(), ({ cause }) => Promise.reject(cause))`;

  const originOfProxy = () => ({ hostname: '127.0.0.1', port: Number(new URL(proxyUrl).port) });
  const proxyEnv = () => ({ HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, NO_PROXY: 'localhost' });

  it.each(isolationModes)(
    'sends requests of code through the proxy, with its authority, isolated by %s',
    async (mode) => {
      const problem = mode === 'bwrap' && (await bubblewrapProblem());
      if (problem) return void process.stderr.write(`Proxies under bubblewrap are not tested: ${problem.text}\n`);
      if (!certificate) return;
      const options = { mode, allowedOrigins: [originOfProxy()], proxyEnv: proxyEnv(), certificates: [certificate] };
      const ways = [
        fetchText('https://site.example/fetched'),
        get('https://site.example/got'),
        get('https://site.example/agent', `{ agent: new (require('https').Agent)({ keepAlive: true }) }`),
        fetchText('http://site.example/fetched'),
        get('http://site.example/got'),
      ];

      const got: string[] = [];
      for (const way of ways) got.push(await attempt(way, options));
      const seen = await attempt('return String(process.env.HTTPS_PROXY ?? process.env.https_proxy)', options);

      expect(got).toEqual([...Array<string>(3).fill('got the site'), ...Array<string>(2).fill('got by the proxy')]);
      expect(proxied).toEqual(
        [
          ...Array<string>(3).fill('CONNECT site.example:443'),
          ...['GET http://site.example/fetched', 'GET http://site.example/got'],
        ].map((request) => `${request} Basic ${btoa('user:password')}`),
      );
      expect(seen).toBe('got undefined');
    },
  );

  it('refuses the site of an authority that it was not given', async () => {
    if (!certificate) return;

    const got = await attempt(fetchText('https://site.example/'), {
      allowedOrigins: [originOfProxy()],
      proxyEnv: proxyEnv(),
    });

    expect(got).toBe('refused: DEPTH_ZERO_SELF_SIGNED_CERT');
  });

  it('refuses private addresses through the proxy, and without it where NO_PROXY names them', async () => {
    const options = {
      allowedOrigins: [originOfProxy()],
      proxyEnv: { ...proxyEnv(), NO_PROXY: 'localhost,10.0.0.1' },
    };
    const urls = ['http://169.254.169.254/', 'https://[fd00::1]/', 'http://127.0.0.1:5432/'];

    const got: string[] = [];
    for (const url of [...urls, 'http://localhost/', 'http://10.0.0.1/'])
      for (const way of [fetchText(url), get(url)]) got.push(await attempt(way, options));

    expect(got).toEqual(Array(10).fill('refused: EACCES'));
    expect(proxied).toEqual([]);
  });

  it('reaches the API without the proxy', async () => {
    const api = await LoopbackServer.start(json({ from: 'the API' }));
    const config = { publicUrl: api.url, contentUrl: 'http://content.example', httpProxy: proxyUrl };
    const options = { allowedOrigins: allowedOriginsOf(config), proxyEnv: proxyEnvOf(config) };

    const got = [await attempt(fetchText(api.url), options), await attempt(get(api.url), options)];

    await api.close();
    expect(got).toEqual(Array(2).fill('got {"from":"the API"}'));
    expect(proxied).toEqual([]);
  });
});

/** Process ids of all processes of a group. */
async function membersOf(group: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const groups = await Promise.all(pids.map(async (pid) => (await statFieldsOf(pid))?.[2]));
  return pids.filter((_pid, index) => groups[index] === String(group));
}

(process.platform === 'linux' ? it.each(isolationModes) : it.skip.each(isolationModes))(
  'ends with all of its processes whenever it is killed during its start, isolated by %s',
  async (mode) => {
    const problem = mode === 'bwrap' && (await bubblewrapProblem());
    if (problem)
      return void process.stderr.write(`Kills during a start under bubblewrap are not tested: ${problem.text}\n`);
    const end = async (delayMs: number) => {
      const { limits, env, folder } = await isolate(mode, program, (place += 1));
      const child = new BotChild({ ...limits, env, heapMb: 64, residentMb: 256 }, () => undefined);
      const loading = child.load({ code: 'exports.handler = () => ({})', env: {} }).catch((error: Error) => error);
      const group = child.groupId!;

      setTimeout(() => child.kill(), delayMs);

      await child.ended;
      await loading;
      await folder.remove();
      await waitFor(
        () => membersOf(group),
        (members) => members.length === 0,
      );
    };
    const delays = Array.from({ length: 16 }, (_, step) => 8 * step)[Symbol.iterator]();
    const lane = async () => {
      for (const delayMs of delays) await end(delayMs);
    };
    await Promise.all(Array.from({ length: 4 }, lane));
    // The system may not have cleared away those of other tests yet.
    await waitFor(orphanedGroups, (count) => count === 0);
  },
);

it.each(isolationModes)('ends code with the runner, also when it is blocked, isolated by %s', async (mode) => {
  const problem = mode === 'bwrap' && (await bubblewrapProblem());
  if (problem) return void process.stderr.write(`The end of code under bubblewrap is not tested: ${problem.text}\n`);
  const script = `
    const { BotChild } = require('./dist/apps/runner/src/children/bot-child.js');
    const { isolate } = require('./dist/apps/runner/src/children/isolation.js');
    void (async () => {
      const { limits, env } = await isolate('${mode}', ${JSON.stringify(program)}, 700);
      const child = new BotChild({ ...limits, env, heapMb: 64, residentMb: 128 }, () => {});
      await child.load({ code: 'exports.handler = () => { for (;;); }', env: {} });
      child.invoke({ request: {}, timeoutMs: 60000 }, () => process.stdout.write(String(child.pid))).catch(() => {});
    })();`;
  const runner = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(runner.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());

  runner.kill('SIGKILL');

  await waitFor(
    () =>
      stat(`/proc/${pid}`).then(
        () => true,
        () => false,
      ),
    (isThere) => !isThere,
  );
});
