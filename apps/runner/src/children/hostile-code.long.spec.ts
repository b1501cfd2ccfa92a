// Takes more than 10 s: the attacks run as two users, in two modes of isolation.
import { spawn, spawnSync, type SpawnOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { workerFile } from '@parley/background/worker-file';
import { expectGenerated } from '@parley/testing/generated-text';
import { type Attack, type Expected, harmful } from '@parley/testing/harmful-code';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { isolationModes, type IsolationMode } from './isolation';
import type { Plan, Report } from './test/hostile-code';

const driver = workerFile(join(__dirname, 'test'), 'hostile-code');
const isRequired = process.env['PARLEY_REQUIRE_ISOLATION'] === '1';
const node = process.execPath;
const isRoot = process.getuid!() === 0;
/** Above those that the runner gives to processes of code. */
const ordinaryUserId = 64_000;

const users = ['root', 'an ordinary user'] as const;
type User = (typeof users)[number];

interface Combination {
  user: User;
  mode: IsolationMode;
}

interface UserCommand {
  command: string[];
  options: Pick<SpawnOptions, 'uid' | 'gid'>;
}

/** Command that runs Node as the user, or why there is none. */
function commandAs(user: User): UserCommand | string {
  if (user === 'root') {
    if (isRoot) return { command: [node], options: {} };
    const hasSudo = spawnSync('sudo', ['-n', 'true']).status === 0;
    return hasSudo
      ? { command: ['sudo', '-n', '--preserve-env=TMPDIR,RUNNER_SECRET', node], options: {} }
      : 'it needs root';
  }
  const options = isRoot ? { uid: ordinaryUserId, gid: ordinaryUserId } : {};
  const isReadable = spawnSync(node, ['--check', driver], options).status === 0;
  return isReadable ? { command: [node], options } : `an ordinary user can not run ${node} with ${driver}`;
}

/** Why the machine lacks the combination; undefined if it has it. */
function lackOf({ user, mode }: Combination): string | undefined {
  const found = commandAs(user);
  if (typeof found === 'string') return found;
  if (mode === 'process') return undefined;
  const [file, ...args] = [...found.command, driver];
  const { stdout } = spawnSync(file, args, { ...found.options, cwd: '/', input: '"is bubblewrap there"' });
  const { problem } = JSON.parse(stdout.toString()) as { problem?: string };
  return problem && `bubblewrap does not work: ${problem}`;
}

const combinations = users.flatMap((user) => isolationModes.map((mode) => ({ user, mode })));
const lacking = combinations.map((combination) => ({ ...combination, lack: lackOf(combination) }));
const available = lacking.filter(({ lack }) => lack === undefined);
const missing = lacking.flatMap(({ user, mode, lack }) => (lack ? [`${user}, ${mode}: ${lack}`] : []));
if (missing.length > 0) process.stderr.write(`Hostile code is not tried here with\n  ${missing.join('\n  ')}\n`);

const fetched = (url: string) =>
  `return fetch(\`${url}\`).then((answer) => answer.text(), (error) => Promise.reject(error.cause ?? error))`;
const connected = (socket: string) =>
  `return new Promise((resolve, reject) => ${socket}.on('connect', () => resolve('a connection')).on('error', reject))`;
const denied = /^refused: (ERR_ACCESS_DENIED|EACCES|ENOENT|EPERM|ERR_UNKNOWN_BUILTIN_MODULE|MODULE_NOT_FOUND)/;
const unavailable = /^refused: process\.\w+ is not available/;
const notAvailable = /^refused: v8\.\w+ is not available/;
const privateAddress = /^refused: EACCES/;

const escaped = `/var/tmp/parley-escaped-${process.pid}`;

/** Attacks that share a process, each with what it gets. */
const files: [string, string, RegExp][] = [
  ['a file of the system', `return fs.readFileSync('/etc/passwd', 'utf8')`, denied],
  ['a program of the platform', `return fs.readFileSync(${JSON.stringify(driver)}, 'utf8')`, denied],
  ['a package of the platform', `return require(${JSON.stringify(require.resolve('typeorm'))})`, denied],
  ['the environment of the runner', `return fs.readFileSync('/proc/' + target.runnerPid + '/environ', 'utf8')`, denied],
  ['the open files of the runner', `return fs.readdirSync('/proc/' + target.runnerPid + '/fd')`, denied],
  ['the environment of a sibling', `return fs.readFileSync('/proc/' + target.siblingPid + '/environ', 'utf8')`, denied],
  ['the memory of a sibling', `return fs.openSync('/proc/' + target.siblingPid + '/mem', 'r+')`, denied],
  ['its own process in /proc', `return fs.readFileSync('/proc/self/environ', 'utf8')`, denied],
  ['the terminal of the runner', `return fs.openSync('/dev/tty', 'r+')`, denied],
  ['a folder of all temporary files', `return fs.readdirSync('/tmp/..')`, denied],
  [
    'a symbolic link out',
    `fs.symlinkSync('/etc/passwd', own('link')); return fs.readFileSync(own('link'), 'utf8')`,
    denied,
  ],
  ['a hard link out', `fs.linkSync('/etc/passwd', own('hard')); return fs.readFileSync(own('hard'), 'utf8')`, denied],
  ['a path out', `return fs.readFileSync(process.env.TMPDIR + '/../../etc/passwd', 'utf8')`, denied],
  ['a path of bytes', `return fs.readFileSync(Buffer.from('/etc/passwd'), 'utf8')`, denied],
  ['a write elsewhere', `return fs.writeFileSync('${escaped}', 'x')`, denied],
  ['whether a file exists', `return require.resolve('/etc/passwd')`, denied],
  [
    'whether a file exists, by a new require',
    `return require('module').createRequire('/x.js').resolve('./etc/passwd')`,
    denied,
  ],
  ['whether a file exists, by the loader', `return require('module')._findPath('/etc/passwd', [])`, /^refused: /],
  ['the report of its process', `return stringify(process.report.getReport())`, /^refused: /],
  [
    'where the platform is installed',
    `return stringify([process.argv, process.execArgv, process.execPath, require.main?.filename, process.mainModule?.filename, Object.keys(require.cache), require('os').hostname()])`,
    new RegExp(`^got (?!.*(host\\.(child|js)|${hostname()}))`),
  ],
  ['SQLite', `const { DatabaseSync } = require('node:sqlite'); new DatabaseSync('${escaped}')`, denied],
];

const processes: [string, string, RegExp][] = [
  ['a child process', `return require('child_process').execSync('id')`, denied],
  [
    'a child process by the internal class',
    `const { ChildProcess } = require('child_process'); new ChildProcess().spawn({ file: '/bin/sh', args: ['sh', '-c', 'id'] })`,
    denied,
  ],
  ['a cluster', `return require('cluster').fork()`, denied],
  ['a thread', `return new (require('worker_threads').Worker)('1', { eval: true })`, denied],
  ['a native binding', `return process.binding('spawn_sync')`, denied],
  ['a native addon', `return process.dlopen({ exports: {} }, '/x.node')`, unavailable],
  ['a native addon by require', `return require.extensions['.node']({ exports: {} }, own('x.node'))`, /^refused: /],
  ['a native library', `return require('node:ffi').dlopen('libc.so.6', {})`, denied],
  ['a native library by import', `return (await import('node:ffi')).dlopen('libc.so.6', {})`, denied],
  ['another program in its place', `return process.execve('/bin/sh', ['sh', '-c', 'id'])`, /^refused: /],
  ['the inspector', `require('inspector').open(0); return require('inspector').url()`, /^refused: /],
  ['WASI', `return new (require('wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } })`, denied],
  ['a signal to the runner', `return process.kill(target.runnerPid, 'SIGKILL')`, unavailable],
  ['a signal to a sibling', `return process.kill(target.siblingPid, 'SIGKILL')`, unavailable],
  ['a signal by the private function', `return process._kill(target.siblingPid, 9)`, unavailable],
  ['the debugger of the runner', `return process._debugProcess(target.runnerPid)`, unavailable],
  ['a higher priority', `return require('os').setPriority(0, 0)`, /^refused: ERR_SYSTEM_ERROR/],
  ['an end of its process', `return process.exit(0)`, unavailable],
  ['an end by the private function', `return process.reallyExit(0)`, unavailable],
  ['an abort', `return process.abort()`, unavailable],
  ['flags of V8', `return require('v8').setFlagsFromString('--allow-natives-syntax')`, notAvailable],
  [
    'flags of V8 by import',
    `return (await import('node:v8')).setFlagsFromString('--allow-natives-syntax')`,
    notAvailable,
  ],
  ['flags of V8 by the default import', `return (await import('v8')).default.setFlagsFromString('--x')`, notAvailable],
  [
    'flags of V8 by the list of modules',
    `const get = process.getBuiltinModule ?? require; return get('v8').setFlagsFromString('--allow-natives-syntax')`,
    notAvailable,
  ],
  ['a startup snapshot', `return require('v8').startupSnapshot.isBuildingSnapshot()`, /^refused: /],
  ['a snapshot of its heap', `return require('v8').writeHeapSnapshot(own('heap'))`, notAvailable],
  ['the channel of Node to its parent', `return process.send({ type: 'answered' })`, /^refused: process\.send is not/],
];

const messages: [string, string, RegExp][] = [
  [
    'an answer in the name of a sibling',
    `fs.writeSync(4, frame({ type: 'answered', id: target.siblingCall, status: 200 }, 'forged')); return 'no error'`,
    /^got no error/,
  ],
  ['the environment', `return stringify(process.env)`, /^got \{(?!.*of the runner)(?!.*of the sibling).*of the code/],
];

const network: [string, string, RegExp][] = [
  ['by address', fetched('http://127.0.0.1:${target.otherPort}/'), privateAddress],
  ['by name', fetched('http://localhost:${target.otherPort}/'), privateAddress],
  ['by an IPv6 address', fetched('http://[::1]:${target.otherPort}/'), privateAddress],
  ['by an IPv4 address in IPv6 form', fetched('http://[::ffff:127.0.0.1]:${target.otherPort}/'), privateAddress],
  ['by a translated IPv4 address', fetched('http://[64:ff9b::7f00:1]:${target.otherPort}/'), privateAddress],
  ['by an address in decimal form', fetched('http://2130706433:${target.otherPort}/'), privateAddress],
  ['by 0.0.0.0', fetched('http://0.0.0.0:${target.otherPort}/'), privateAddress],
  ['at the metadata address', fetched('http://169.254.169.254/latest/meta-data'), privateAddress],
  ['at a private address', fetched('http://10.0.0.1/'), privateAddress],
  ['by a redirect of the API', fetched('http://127.0.0.1:${target.apiPort}/redirect'), privateAddress],
  [
    'by a look-up of its own',
    `const lookup = (_host, options, done) => options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4);
     return new Promise((resolve, reject) => require('http').get({ host: 'parley.invalid', port: target.otherPort, lookup }, resolve).on('error', reject))`,
    privateAddress,
  ],
  [
    'by a name whose address changes between look-ups',
    `const dns = require('dns'), former = dns.lookup; let calls = 0;
     dns.lookup = (_host, options, done) => { const address = calls++ ? '127.0.0.1' : '93.184.215.14';
       return options.all ? done(null, [{ address, family: 4 }]) : done(null, address, 4) };
     const get = () => new Promise((resolve, reject) => require('http').get({ host: 'parley.invalid', port: target.otherPort }, resolve).on('error', reject));
     try { await get().catch(() => undefined); return await get() } finally { dns.lookup = former }`,
    /^refused: (ENOTFOUND|EAI_AGAIN)/,
  ],
  [
    'by an option that changes after it was read',
    `let reads = 0;
     const socket = new (require('net').Socket)().connect({ host: '127.0.0.1', get port() { return reads++ ? target.otherPort : target.apiPort } });
     return new Promise((resolve, reject) => socket.on('data', (bytes) => resolve(bytes)).on('error', reject).write('GET / HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n'))`,
    /^got HTTP\/1\.1 302/,
  ],
  ['at an address for documentation', fetched('http://192.0.2.1/'), privateAddress],
  ['by an IPv4 address in the oldest IPv6 form', fetched('http://[::7f00:1]:${target.otherPort}/'), privateAddress],
  ['by a name server', `return require('dns').setServers(['127.0.0.1'])`, privateAddress],
  [
    'by a name server with a port',
    `return new (require('dns').Resolver)().setServers(['10.0.0.1:5353'])`,
    privateAddress,
  ],
  ['by a name server, by promises', `return require('dns/promises').setServers(['[::1]:53'])`, privateAddress],
  ['by a name server, by import', `return (await import('dns')).setServers(['127.0.0.1'])`, privateAddress],
  [
    'by a name server of a resolver, by promises',
    `return new (require('dns').promises.Resolver)().setServers(['127.0.0.1'])`,
    privateAddress,
  ],
  ['by a socket', connected(`require('net').connect(target.otherPort, '127.0.0.1')`), privateAddress],
  ['by a local socket', connected(`require('net').connect('/run/any.sock')`), privateAddress],
  ['by UDP', `require('dgram').createSocket('udp4').send('x', 53, '127.0.0.1')`, privateAddress],
  ['by a server', `return new Promise((resolve) => require('net').createServer().listen(0, resolve))`, privateAddress],
];

/** Constructors of native handles, which Node does not hide. */
const nativeHandles = `
  const found = {};
  const hook = require('async_hooks').createHook({ init(_id, type, _trigger, resource) { found[type] = resource.constructor } }).enable();
  await new Promise((resolve, reject) => require('net').connect(target.apiPort, '127.0.0.1').on('connect', function () { resolve(this.destroy()) }).on('error', reject));
  hook.disable();
  const connect = (handle, ...to) => new Promise((resolve, reject) => {
    const request = new found.TCPCONNECTWRAP();
    request.oncomplete = (status) => status ? reject(new Error('status ' + status)) : resolve(handle.close() ?? 'a connection');
    const status = handle.connect(request, ...to);
    if (status) reject(new Error('status ' + status));
  });`;

/** The limits of these layers, which SECURITY.md names. */
const left: [string, string, Expected][] = [
  [
    'a local port by a native handle',
    `${nativeHandles} return connect(new found.TCPWRAP(0), '127.0.0.1', target.otherPort)`,
    /^got a connection$/,
  ],
  [
    'a local socket by a native handle',
    `${nativeHandles} const { _handle } = process._getActiveHandles().find(({ _handle }) => _handle?.constructor.name === 'Pipe');
     return connect(new _handle.constructor(0), target.localSocket)`,
    { process: /^got a connection$/, bwrap: /^refused: status -2$/ },
  ],
];

const together = Object.entries({ files, processes, messages, network, left }).flatMap(([kind, list]) =>
  list.map(([name, code, expected]) => ({ kind, name, code, expected })),
);
const attacks: Attack[] = [
  ...together.map(({ kind, name, code }) => ({ name: `${kind}: ${name}`, code })),
  ...harmful.map(({ name, code, timeoutMs }) => ({ name, code, timeoutMs, isAlone: true })),
];

/** Page with what each attack gets, in the words of the patterns that the results have to match. */
function attacksPage(): string {
  const verdicts: Record<string, string> = {
    refused: 'refused',
    got: 'nothing of others',
    crashed: 'its process ends',
    'timed out': 'its process ends at the time limit',
    'out of memory': 'its process ends at the memory limit',
  };
  const verdict = (expected: Expected, mode: IsolationMode) => {
    const { source } = expected instanceof RegExp ? expected : expected[mode]!;
    const found = Object.keys(verdicts).filter((result) => new RegExp(`[\\^(|]${result}\\b`).test(source));
    return found.map((result) => verdicts[result]).join(', or ');
  };
  const row = (name: string, expected: Expected, succeeds = false) => {
    const cells = isolationModes.map((mode) => {
      const text = verdict(expected, mode);
      return succeeds && text === verdicts['got'] ? '**reached**' : text;
    });
    return `| ${name} | ${cells.join(' | ')} |`;
  };
  return [
    '# Hostile code',
    '',
    'Attacks of code against its runner, and what each gets by the isolation of its process. `hostile-code.long.spec.ts` tries each of',
    'them for a runner that is root and for one that is an ordinary user: the results are the same. After',
    'each, the runner and a process beside it go on. [SECURITY.md](../SECURITY.md) says what the modes mean.',
    '',
    'This page is generated from the suite: `UPDATE_DOCS=1 npm run test:long -- hostile-code`.',
    '',
    `| attack | ${isolationModes.map((mode) => `\`${mode}\``).join(' | ')} |`,
    '| --- | --- | --- |',
    ...together.map(({ kind, name, expected }) => row(`${kind}: ${name}`, expected, kind === 'left')),
    ...harmful.map(({ name, expected }) => row(`alone: ${name}`, expected)),
    '',
  ].join('\n');
}

it('lists the attacks in docs/hostile-code.md, with what each gets', () => {
  expectGenerated('docs/hostile-code.md', attacksPage());
});

it('tries the attacks in all combinations where they are required', () => {
  if (isRequired) expect(missing).toEqual([]);
  expect(available.length).toBeGreaterThan(0);
});

describe.each(available)('hostile code, for a runner of $user, isolated by $mode,', ({ user, mode }) => {
  let report: Report;
  let other: LoopbackServer;
  const expectedIn = (expected: Expected) => (expected instanceof RegExp ? expected : expected[mode]!);

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-hostile-'));
    await chmod(folder, 0o777);
    other = await LoopbackServer.start(json({ from: 'the other server' }));
    const api = await LoopbackServer.start((_request, response) => {
      response.writeHead(302, { location: `${other.url}/` }).end();
    });
    const localSocket = join(folder, 'local.sock');
    const local = createServer((socket) => socket.end()).listen({ path: localSocket, writableAll: true });
    try {
      const [apiPort, otherPort] = [api, other].map(({ url }) => Number(new URL(url).port)) as [number, number];
      report = await reportOf({ user, mode }, { mode, attacks, apiPort, otherPort, localSocket }, folder);
    } finally {
      local.close();
      await api.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  afterAll(() => other.close());

  it.each(together)('does not give hostile code $kind: $name', ({ kind, name, expected }) => {
    expect(report.outcomes[`${kind}: ${name}`]!.result).toMatch(expectedIn(expected));
  });

  it.each(harmful)('lets hostile code harm nothing but itself by $name', ({ name, expected, next, then }) => {
    const outcome = report.outcomes[name]!;

    expect(outcome.result).toMatch(expectedIn(expected));
    expect(outcome.next).toMatch(expectedIn(next));
    then?.(outcome);
  });

  it('leaves a process beside hostile code alone, and no files', () => {
    expect(report).toMatchObject({ siblingAnswer: 'of the sibling', leftFolders: [] });
    expect(existsSync(escaped)).toBe(false);
  });

  it('does not let hostile code reach a server at a private address by what Node offers', () => {
    expect(other.requests).toEqual([]);
  });
});

/** Runs the attacks with a runner of the combination. */
async function reportOf({ user }: Combination, plan: Plan, folder: string): Promise<Report> {
  const { command, options } = commandAs(user) as UserCommand;
  const [file, ...args] = [...command, driver];
  const env = { PATH: process.env['PATH'], TMPDIR: folder, RUNNER_SECRET: 'of the runner' };
  const runner = spawn(file, args, { ...options, env, cwd: '/', stdio: 'pipe' });
  runner.stdin.end(JSON.stringify(plan));
  const [output, errors] = await Promise.all([text(runner.stdout), text(runner.stderr)]);
  if (output === '') throw new Error(`The runner ended: ${errors}`);
  return JSON.parse(output) as Report;
}
