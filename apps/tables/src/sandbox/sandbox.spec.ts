import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { SandboxService } from './sandbox.service';

const sandbox = new SandboxService();
afterAll(() => sandbox.onApplicationShutdown());

const run = (code: string, row: Record<string, unknown> = {}) => sandbox.run(code, row);
const errorOf = async (code: string, row?: Record<string, unknown>) => {
  const outcome = await run(code, row);
  return 'error' in outcome ? outcome.error : `no error but ${JSON.stringify(outcome.value)}`;
};

describe('the code of a column', () => {
  it.each<[string, unknown]>([
    ['row.price * 2', 84],
    ['  row.price * 2 ;\n', 84],
    ['row["the name"].toUpperCase()', 'PARROT'],
    ['{ total: row.price, names: [row["the name"]] }', { total: 42, names: ['parrot'] }],
    ['(row) => row.price + 1', 43],
    ['function total(row) { return row.price }', 42],
    ['const half = row.price / 2;\nreturn half', 21],
    ['if (row.price > 40) return "dear"\nreturn "cheap"', 'dear'],
    ['row.price // of one', 42],
    ['row.unknown', null],
    ['null', null],
    ['new Date(0)', '1970-01-01T00:00:00.000Z'],
    ['{ "__proto__": 1, ["__proto__"]: 2 }', { ['__proto__']: 2 }],
    ['row.nested.deep[1]', 'b'],
    ['async (row) => (await row.price) + (await Promise.resolve(1))', 43],
    ['Promise.all([1, 2].map((x) => Promise.resolve(x)))', [1, 2]],
  ])('computes %j as %j', async (code, value) => {
    const outcome = await run(code, { price: 42, 'the name': 'parrot', nested: { deep: ['a', 'b'] } });

    expect(outcome).toEqual({ value });
  });

  it.each([
    ['price', 'Error in line 1: price is not defined'],
    ['const a = 1;\nreturn a + price', 'Error in line 2: price is not defined'],
    ['(row) => {\n\n  return row.a.b\n}', "Error in line 3: cannot read property 'b' of undefined"],
    ['1 +\n* 2', "Error in line 2: unexpected token in expression: '*'"],
    ['const a = 1;\nreturn a +* 2', "Error in line 2: unexpected token in expression: '*'"],
    ['return (', 'Error in line 1: the code ends too early'],
    ['1 +', 'Error in line 1: the code ends too early'],
    ['{\n  a: [1,\n', 'Error in line 2: the code ends too early'],
    ['row.a)', 'Error in line 1: '],
    ['(() => { throw "no" })()', 'Error: no'],
    ['(() => { throw new Error("no") })()', 'Error in line 1: no'],
    ['(() => { throw undefined })()', 'Error: undefined'],
    ['Promise.reject(new TypeError("later"))', 'Error in line 1: later'],
    ['new Promise(() => {})', 'The code returns a promise that never settles'],
    ['() => () => 1', 'The result is or contains a function, which cannot be stored.'],
    ['[Symbol.iterator]', 'The result is or contains a symbol, which cannot be stored.'],
    ['{ a: [1n] }', 'The result is or contains a bigint, which cannot be stored.'],
    ['0 / 0', 'The result is or contains NaN, which cannot be stored.'],
    ['{ a: 1 / 0 }', 'The result is or contains Infinity, which cannot be stored.'],
    ['const a = {}; a.a = a; return a', 'The result contains a circular reference and cannot be stored.'],
    ['"x".repeat(200000)', 'The result is longer than 131072 characters.'],
    ['let a = []; for (let i = 0; i < 20; i++) a = [a]; return a', 'The result is nested deeper than 20 levels.'],
    ['let a = []; for (let i = 0; i < 2500; i++) a = [a]; return a', 'deep'],
    ['(() => { throw { get message() { throw this } } })()', 'Error: an error that cannot be read'],
  ])('fails %j with a descriptive error', async (code, error) => {
    expect(await errorOf(code)).toContain(error);
  });

  it.each([
    ['row.price * 2', undefined],
    ['const a = row.price; return a', undefined],
    ['nothing.price', undefined],
    ['for (;;);', undefined],
    ['1) }); for (;;); (function (row) { return (1', undefined],
    ['const a = 1;\nreturn a +* 2', "Error in line 2: unexpected token in expression: '*'"],
    ['row.price *', 'Error in line 1: the code ends too early'],
  ])('checks %j without running it', async (code, problem) => {
    expect(await sandbox.problemOf(code)).toBe(problem);
  });

  it('gives code a copy of its row, which it may change', async () => {
    const row = { list: [1] };

    const outcome = await run('row.list.push(2); return row.list.length', row);

    expect(outcome).toEqual({ value: 2 });
    expect(row).toEqual({ list: [1] });
  });
});

describe('code that exceeds its limits', () => {
  it.each([
    'while (true) {}',
    'for (;;);',
    'try { while (true) {} } catch { return 1 } finally { return 2 }',
    'const again = () => void Promise.resolve().then(again); again(); return new Promise(() => {})',
    '/^(a+)+$/.test("a".repeat(40) + "!")',
    '({ get a() { for (;;); } }).a',
    '{ toJSON() { for (;;); } }',
    '(() => { throw { get message() { for (;;); } } })()',
    'new Proxy({}, { ownKeys() { for (;;); } })',
    '}); for (;;); (function (row) { return 1',
  ])('ends %j after its time limit', async (code) => {
    expect(await errorOf(code)).toBe('The code took longer than 250 ms.');
  });

  it.each(['Array(2 ** 32 - 1).indexOf(5)', 'Array(1e9).join("x").length'])(
    'terminates %j with its thread because QuickJS cannot interrupt it, and runs the next code',
    async (code) => {
      const [error, next] = await Promise.all([errorOf(code), run('1 + 1')]);

      expect(error).toBe('The code took longer than 250 ms.');
      expect(next).toEqual({ value: 2 });
      expect(await run('2 + 2')).toEqual({ value: 4 });
    },
    30_000,
  );

  it.each([
    'new Uint8Array(1e9)',
    '"a".repeat(1e8).length',
    'Array.from({ length: 3e5 }, (_, i) => new Uint8Array(100))',
    'const list = []; try { for (;;) list.push("x".repeat(1e5) + list.length) } catch (error) { throw error }',
  ])('fails %j with the memory limit', async (code) => {
    const { error } = (await sandbox.run(code, {}, { timeoutMs: 1_500 })) as { error: string };

    expect(error).toBe('The code exceeds its memory limit of 16 MB.');
    expect(await run('1 + 1')).toEqual({ value: 2 });
  });

  it.each([
    'const f = () => f(); return f()',
    'const f = () => [1].map(f); return f()',
    '{ get a() { return this.a } }',
    'new Proxy({}, { get: (target, name, itself) => itself[name] }).x',
    'JSON.parse("[".repeat(20000) + "]".repeat(20000))',
    'let list = []; for (let i = 0; i < 5000; i++) list = [list]; return String(list)',
    '"(".repeat(20000) + eval("(".repeat(20000))',
    'const f = () => `${{ toString: f }}`; return f()',
  ])('fails %j with the recursion limit', async (code) => {
    const { error } = (await sandbox.run(code, {}, { timeoutMs: 1_500 })) as { error: string };

    expect(error).toContain('too deeply');
    expect(await run('1 + 1')).toEqual({ value: 2 });
  });

  it('gives code its whole time on a busy machine', async () => {
    const computing = `for (let n = 0; n < 2e6; n++); return 'ended'`;
    const others = Array.from({ length: 2 * availableParallelism() }, () =>
      spawn(process.execPath, ['-e', `console.log(); for (;;);`], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    try {
      await Promise.all(others.map(({ stdout }) => once(stdout, 'data')));

      for (let time = 0; time < 5; time += 1) expect(await run(computing)).toEqual({ value: 'ended' });
    } finally {
      others.forEach((other) => other.kill('SIGKILL'));
    }
  });

  it('aborts running and queued code by its signal', async () => {
    const abort = new AbortController();
    const runs = ['Array(1e9).join("x").length', 'for (;;);', '1'].map((code) =>
      sandbox.run(code, {}, { timeoutMs: 600_000 }, abort.signal),
    );
    abort.abort(new Error('the service stops'));

    const ends = await Promise.allSettled(runs);

    expect(ends.map((end) => end.status === 'rejected' && (end.reason as Error).message)).toEqual(
      Array(3).fill('the service stops'),
    );
    expect(await run('1 + 1')).toEqual({ value: 2 });
  });

  it('computes without blocking the event loop', async () => {
    let ticks = 0;
    const clock = setInterval(() => ticks++, 10);

    await errorOf('while (true) {}');

    clearInterval(clock);
    expect(ticks).toBeGreaterThan(2);
  });
});

describe('code that tries to escape', () => {
  it.each([
    'process',
    'require("fs")',
    'fetch("http://127.0.0.1")',
    'setTimeout(() => {}, 1)',
    'performance.now()',
    'WebAssembly',
    'Atomics',
    'new Worker("x")',
    'console.log(1)',
    'constructor.constructor("return process")()',
    'row.constructor.constructor("return process")()',
    'this.constructor.constructor("return process")()',
    '(async () => {}).constructor("return process")()',
    'Reflect.getPrototypeOf(function* () {}).constructor("return process")().next()',
    'globalThis.constructor.constructor("return this")().process.exit()',
  ])('hides everything outside of the sandbox from %j', async (code) => {
    expect(await errorOf(code)).toMatch(/is not defined|cannot read property|not a function/);
  });

  it('refuses imports of code', async () => {
    expect(await errorOf('import("fs")')).toMatch(/^Error|never settles/);
  });

  it.each([
    'String(Object.getOwnPropertyNames(globalThis).filter((name) => /run|settled|prelude|std|os|script/.test(name)))',
    'String((() => { try { return run.caller } catch { return "" } })())',
  ])('hides the prelude from %j', async (code) => {
    expect(await run(code)).toEqual({ value: '' });
  });

  it('gives code a frozen clock and no other', async () => {
    const code = `
      const before = [Date.now(), +new Date(), Date.parse(Date()), +Reflect.construct(Date, [], Date)];
      for (let i = 0; i < 1e6; i++);
      const Real = new Date().constructor;
      const others = [Real, Object.getPrototypeOf(new Date(0)).constructor, class extends Date {}, Date.bind()];
      const after = others.map((Other) => +new Other());
      return [...before.slice(0, 2), before[3], ...after].every((time) => time === before[0]) &&
        Math.abs(before[2] - before[0]) < 1000 && new Date(2020, 1).getFullYear() === 2020 && Date.UTC(2020, 0) > 0 &&
        new Date(5) instanceof Date && Date.name === 'Date' && before[0]`;

    const before = Date.now();
    const { value } = (await run(code)) as { value: number };

    expect(value).toBeGreaterThanOrEqual(before);
    expect(value).toBeLessThanOrEqual(Date.now());
  });

  it.each([
    '}); for (let i = 0; i < 1e6; i++); globalThis.time = Date.now(); (function (row) { return time - Date.now()',
    '1)}); for (let i = 0; i < 1e6; i++); globalThis.time = +new Date(); (function (row) { return (time - Date.now()',
  ])('gives code no other clock outside of its function: %j', async (code) => {
    expect(await run(code)).toEqual({ value: 0 });
  });

  it('leaves no state of code for the next run', async () => {
    await run('globalThis.left = 1; Object.prototype.left = 1; Array.prototype.map = () => "mine"; return 1');

    expect(await run('typeof left + typeof ({}).left + [1].map((x) => x + 1)[0]')).toEqual({
      value: 'undefinedundefined2',
    });
  });

  it.each([
    'JSON.stringify = () => "{}"; JSON.parse = () => 0; return 1',
    'Reflect.apply = Promise.prototype.then = String.prototype.slice = () => { throw 1 }; return Promise.resolve(1)',
    'Array.prototype[Symbol.iterator] = () => { throw 1 }; return 1',
    'Object.defineProperty(Object.prototype, "error", { get() { throw 1 } }); return 1',
  ])('ignores replaced built-ins of %j', async (code) => {
    expect(await run(code)).toEqual({ value: 1 });
  });

  it.each([
    'Object.prototype.toJSON = () => ({ value: 2, stack: {} }); return 1',
    'Object.prototype.toJSON = () => undefined; return 1',
    'Object.prototype.toJSON = () => "text"; return 1',
    'Object.prototype.toJSON = () => ({ message: 1, stack: null }); return 1',
    'Object.prototype.toJSON = () => ({ message: { length: 1 } }); throw 1',
    '(() => { throw { get message() { throw this } } })()',
    '(() => { throw { toString: null, valueOf: null } })()',
    '(() => { throw { message: Symbol("x"), stack: Symbol("y") } })()',
    '(() => { throw new Proxy({}, { get() { throw 1 } }) })()',
    '(() => { throw { message: "x".repeat(1e6), stack: "code:".repeat(1e6) } })()',
    '1) }), (function () { return (2',
    `1)}); JSON.stringify = () => '{"refusal":"' + 'x'.repeat(8e6) + '"}'; (function (row) { return (1`,
    `1)}); JSON.stringify = () => '{"message":"' + 'x'.repeat(8e6) + '"}'; (function (row) { return (1`,
    `Object.prototype.toJSON = () => ({ refusal: 'x'.repeat(1e5) }); return 1`,
    `Object.prototype.toJSON = () => ({ refusal: 'x'.repeat(5e6) }); return 1`,
    `1)}); throw { message: 'x'.repeat(5e6), name: 'SyntaxError' }; (function (row) { return (1`,
    `1)}); throw new SyntaxError('x'.repeat(5e6)); (function (row) { return (1`,
    '}), (() => { for (let i = 0; i < 3; i++) { return 1 } })(), (function () {',
  ])('ends %j with a value or an error', async (code) => {
    const outcome = (await run(code)) as { error?: string; value?: unknown };

    expect(Object.keys(outcome)).toHaveLength(1);
    if ('error' in outcome) expect(outcome.error).toMatch(/^(Error|The) .{3,600}$|^Error: .{1,520}$/);
    expect(await run('1 + 1')).toEqual({ value: 2 });
  });
});
