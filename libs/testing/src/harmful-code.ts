type IsolationMode = 'process' | 'bwrap';

export interface Attack {
  name: string;
  /** Body of an async function with `fs` and `target`: what it returns or throws is the result. */
  code: string;
  /** In a process of its own, since it harms that. */
  isAlone?: boolean;
  timeoutMs?: number;
}

export interface Outcome {
  /** `got …`, `refused: <code>`, or `<failure>: <message>` when there was no answer. */
  result: string;
  /** First lines of the log. */
  lines: { level: string; message: string; isForBot?: boolean }[];
  loggedCharacters: number;
  droppedLines: number;
  /** Answer of a call after the attack, in the same process. */
  next: string;
}

/** Pattern of a result, the same in all modes or for each. */
export type Expected = RegExp | Partial<Record<IsolationMode, RegExp>>;

export interface HarmfulAttack extends Omit<Attack, 'isAlone'> {
  expected: Expected;
  next: Expected;
  then?: (outcome: Outcome) => void;
}

/** Attacks that harm their process. */
export const harmful: HarmfulAttack[] = [
  {
    name: 'a message that is none',
    code: `fs.writeSync(4, 'nonsense\\n'); return new Promise(() => {})`,
    ...{ expected: /^crashed: /, next: /^crashed: / },
  },
  {
    name: 'a signal to its process group',
    // A new handle has whatever process id its memory has: sometimes 0, for the group.
    code: `for (let tries = 0; tries < 20_000; tries += 1) {
             const handle = new (require('child_process').ChildProcess)()._handle;
             if (handle.kill(0) === 0) handle.kill(9);
           } return 'alive'`,
    ...{ expected: /^crashed: |^got alive$/, next: /^crashed: |^unharmed$/ },
  },
  {
    name: 'a closed pipe of orders',
    code: `fs.closeSync(3); return 'closed'`,
    ...{ expected: /^got closed|^crashed: /, next: /^crashed: .*closed its connection/ },
  },
  {
    name: '100,000 line breaks',
    code: `console.log('\\n'.repeat(100_000)); return 'printed'`,
    ...{ expected: /^got printed$/, next: /^unharmed$/ },
    then: ({ droppedLines }) => expect(droppedLines).toBeGreaterThan(40_000),
  },
  {
    name: 'line breaks past the captured streams',
    code: `await writeAll(1, Buffer.alloc(300_000, 10)); await writeAll(2, Buffer.alloc(300_000, 10)); return 'written'`,
    ...{ expected: /^got written$/, next: /^unharmed$/ },
    then: ({ droppedLines }) => expect(droppedLines).toBeGreaterThan(500_000),
  },
  {
    name: 'a failed load in an error of line breaks',
    code: `throw new Error('\\n'.repeat(1e6))`,
    ...{ expected: /^refused: /, next: /^unharmed$/ },
  },
  {
    name: 'short messages without an end',
    code: `const part = Buffer.concat(Array(3_000).fill(frame({ type: 'pong' }))); for (;;) await writeAll(4, part)`,
    ...{ timeoutMs: 1_500, expected: /^timed out: /, next: /^crashed: |^timed out: / },
  },
  {
    name: 'last words without an end',
    code: `const part = Buffer.concat(Array(3_000).fill(frame({ type: 'crashed' }, 'again'))); for (;;) await writeAll(4, part)`,
    ...{ expected: /^crashed: .*again/, next: /^crashed: / },
  },
  {
    name: 'a message of 29 MB',
    code: `await writeAll(4, frame({ type: 'output', stream: 'stdout' }, '['.repeat(29e6))); return 'written'`,
    ...{ expected: /^crashed: .*64000 are allowed/, next: /^crashed: / },
  },
  {
    name: 'a header of 29 MB',
    code: `await writeAll(4, frame({ type: '['.repeat(29e6) })); return 'written'`,
    ...{ expected: /^crashed: .*64000 are allowed/, next: /^crashed: / },
  },
  {
    name: 'an answer byte by byte',
    code: `for (const byte of frame({ type: 'output', stream: 'stdout' }, 'x'.repeat(20_000) + '\\n')) await writeAll(4, Buffer.from([byte])); return 'written'`,
    ...{ expected: /^got written$/, next: /^unharmed$/ },
    then: ({ loggedCharacters }) => expect(loggedCharacters).toBeGreaterThan(15_000),
  },
  {
    name: 'a polluted Object.prototype',
    code: `Object.assign(Object.prototype, { status: 500, id: 'x', type: 'pong', toJSON: undefined, stream: 'x' }); return 'polluted'`,
    ...{ expected: /^got polluted$/, next: /^unharmed$/ },
  },
  {
    name: 'replaced globals',
    code: `JSON.parse = JSON.stringify = () => { throw new Error('replaced') }; Buffer.byteLength = () => 0; Date.now = () => NaN;
           performance.now = () => NaN; globalThis.Promise = globalThis.String = undefined; require('net').Socket.prototype.write = () => {};
           require('async_hooks').AsyncLocalStorage.prototype.run = () => {}; setTimeout = setImmediate = undefined; return 'replaced'`,
    ...{ expected: /^refused: |^got /, next: /^unharmed$/ },
  },
  {
    name: 'replaced functions that the refusal of addresses uses',
    code: `const net = require('net'), socket = new net.Socket(), { connect } = socket;
           Object.assign(Array.prototype, { some: () => true, find: () => undefined, includes: () => true });
           Array.isArray = () => false; net.isIP = () => 0; Number.isInteger = () => true; net.BlockList.prototype.check = () => false;
           return new Promise((resolve, reject) => { socket.on('connect', () => resolve('a connection')).on('error', reject); socket.connect(target.otherPort, '127.0.0.1') })`,
    ...{ expected: /^refused: EACCES/, next: /^unharmed$|^crashed: / },
  },
  {
    name: 'a blocked event loop',
    code: `for (;;);`,
    ...{ timeoutMs: 500, expected: /^timed out: /, next: /^(crashed|timed out): / },
  },
  {
    name: 'a full heap',
    code: `const all = []; for (;;) all.push('x'.repeat(1e6) + all.length)`,
    ...{ expected: /^out of memory: /, next: /^crashed: |^out of memory: / },
  },
  {
    name: 'memory outside of the heap',
    code: `const all = []; for (;;) { all.push(Buffer.alloc(2e7, 1)); await new Promise((resolve) => setTimeout(resolve, 5)) }`,
    ...{ expected: /^out of memory: /, next: /^crashed: |^out of memory: / },
  },
  {
    name: '100 MB of logs',
    code: `const part = frame({ type: 'output', stream: 'stdout' }, 'x'.repeat(49_999) + '\\n');
           for (let sent = 0; sent < 2_000; sent += 1) await writeAll(4, part);
           return 'all written'`,
    // On a busy machine, code has little of the processors.
    ...{ timeoutMs: 60_000, expected: /^got all written$/, next: /^unharmed$/ },
    then: ({ loggedCharacters, droppedLines }) => {
      expect(loggedCharacters).toBeLessThan(1_100_000);
      expect(droppedLines).toBeGreaterThan(30);
    },
  },
  {
    name: 'a log line of another bot',
    code: `console.log(stringify({ msg: 'forged', level: 'info', botId: 'bot_of_others', visible_to_bot_owner: true })); return 'printed'`,
    ...{ expected: /^got printed$/, next: /^unharmed$/ },
    then: ({ lines }) => expect(lines).toEqual([{ level: 'info', message: 'forged', isForBot: false }]),
  },
  {
    name: 'an unhandled rejection',
    code: `Promise.reject(new Error('nobody handles this')); return new Promise(() => {})`,
    ...{ expected: /^crashed: .*nobody handles this/, next: /^crashed: / },
  },
  {
    name: 'an error outside of the call',
    code: `setTimeout(() => { throw new Error('later') }); return new Promise(() => {})`,
    ...{ expected: /^crashed: .*later/, next: /^crashed: / },
  },
  {
    name: '10,000 sockets',
    code: `const open = []; let error; for (let n = 0; n < 10000 && !error; n += 1) await new Promise((resolve) => {
             open.push(require('net').connect(target.apiPort, '127.0.0.1').on('connect', resolve).on('error', (failed) => resolve(error = failed))) });
           open.forEach((socket) => socket.destroy()); throw error ?? new Error('no limit')`,
    ...{ expected: /^refused: EMFILE/, next: /^unharmed$/ },
  },
  {
    name: 'a timer that outlives its call',
    code: `setTimeout(() => console.log('too late'), 20); return 'done'`,
    ...{ expected: /^got done$/, next: /^unharmed$/ },
    then: ({ lines }) => expect(lines).toEqual([{ level: 'info', message: 'too late' }]),
  },
  {
    name: '80 MB of files',
    code: `for (let n = 0; n < 2; n += 1) fs.writeFileSync(own('large' + n), Buffer.alloc(4e7, 1)); return new Promise(() => {})`,
    ...{
      expected: { process: /^crashed: .*limit of 64 MiB/, bwrap: /^refused: ENOSPC/ },
      next: { process: /^crashed: /, bwrap: /^unharmed$/ },
    },
  },
  {
    name: '80 MB of deleted files',
    code: `for (let n = 0; n < 2; n += 1) { const file = fs.openSync(own('deleted'), 'w'); fs.unlinkSync(own('deleted')); if (fs.writeSync(file, Buffer.alloc(4e7, 1)) < 4e7) throw new Error('a full folder') }
           return new Promise(() => {})`,
    ...{
      expected: { process: /^crashed: .*limit of 64 MiB/, bwrap: /^refused: a full folder/ },
      next: { process: /^crashed: /, bwrap: /^unharmed$/ },
    },
  },
  {
    name: '6,000 files',
    code: `for (let n = 0; n < 6000; n += 1) fs.writeFileSync(own('small' + n), ''); return new Promise(() => {})`,
    ...{ expected: /^crashed: .*limit of 5,000 files/, next: /^crashed: / },
    then: ({ lines }) =>
      expect(lines[0]!.message).toBe('The temporary folder of the code exceeded its limit of 5,000 files.'),
  },
  {
    name: 'a folder that nobody may read, and a deep one',
    code: `fs.mkdirSync(own('closed/inner'), { recursive: true }); fs.writeFileSync(own('closed/inner/file'), 'x'); fs.chmodSync(own('closed'), 0);
           process.chdir(process.env.TMPDIR); try { for (let n = 0; n < 60; n += 1) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)) } } catch {}
           return new Promise((resolve) => setTimeout(resolve, 600, 'made'))`,
    ...{ expected: /^got made$|^crashed: .*cannot be checked/, next: /^unharmed$|^crashed: / },
  },
  {
    name: 'an end by a signal to itself',
    code: `process.emit('SIGTERM'); return 'alive'`,
    expected: /^got alive$/,
    next: /^unharmed$/,
  },
];

/** Answers with what the attack of the request got. */
export function bundleOf(attacks: Attack[]): string {
  const functions = attacks.map(({ name, code }) => `${JSON.stringify(name)}: async (target) => { ${code} }`);
  return `
    const fs = require('fs'), path = require('path');
    const own = (name) => path.join(process.env.TMPDIR, name);
    const { stringify, parse } = JSON, Native = Promise, wait = setTimeout;
    const frame = (header, body = '') => {
      const parts = [Buffer.alloc(8), Buffer.from(stringify(header)), Buffer.from(body)];
      parts[0].writeUInt32BE(parts[1].length, 0); parts[0].writeUInt32BE(parts[2].length, 4);
      return Buffer.concat(parts);
    };
    const writeAll = async (fd, bytes) => { for (let at = 0; at < bytes.length;) {
      try { at += fs.writeSync(fd, bytes, at) } catch (error) { if (error.code !== 'EAGAIN') throw error; await new Native((resolve) => wait(resolve, 1)) }
    } };
    const attacks = { ${functions.join(',\n')} };
    exports.handler = async ({ body }) => {
      const { name, target } = parse(body);
      if (!name) {
        await new Native((resolve) => wait(resolve, 40));
        return { status: 200, body: 'unharmed' };
      }
      try { return { status: 200, body: 'got ' + String(await attacks[name](target)) } }
      catch (error) { return { status: 200, body: 'refused: ' + ((error.cause ?? error).code ?? error.message ?? error) } }
    };`;
}
