import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { run } from './running-platform';
import { waitFor } from './wait-for';

interface Environment {
  fakeTimersModern: { useFakeTimers(): void };
  teardown(): void;
}

const Environment = createRequire(__filename)('../../../tools/jest-environment.cjs') as new (
  config: object,
) => Environment;

function runFile(test: (environment: Environment) => void): void {
  const environment = new Environment({ projectConfig: { fakeTimers: {} } });
  test(environment);
  environment.teardown();
}

describe('After a test file,', () => {
  it('restores globals after a test file', () => {
    const { fetch } = globalThis;

    runFile(() => {
      Object.assign(globalThis, { fetch: () => undefined, left: 1, [Symbol.for('left')]: 2 });
    });

    expect(globalThis.fetch).toBe(fetch);
    expect(Reflect.ownKeys(globalThis)).not.toContain('left');
    expect(Reflect.ownKeys(globalThis)).not.toContain(Symbol.for('left'));
  });

  it('restores environment variables after a test file', () => {
    const { env } = process;
    const before = { ...env };

    runFile(() => {
      process.env['LEFT'] = 'here';
      delete process.env['PATH'];
      process.env = { PATH: 'elsewhere' };
    });

    expect(process.env).toBe(env);
    expect({ ...process.env }).toEqual(before);
  });

  it('restores functions, exit code and listeners of the process after a test file', () => {
    const { exit, exitCode } = process;
    const kept = () => undefined;
    process.on('SIGUSR2', kept);

    runFile(() => {
      Object.assign(process, { exit: () => undefined, exitCode: 3 });
      process.on('SIGUSR2', () => undefined).on('SIGHUP', () => undefined);
    });
    const listeners = process.listeners('SIGUSR2');
    process.off('SIGUSR2', kept);

    expect([process.exit, process.exitCode]).toEqual([exit, exitCode]);
    expect(listeners).toEqual([kept]);
    expect(process.listenerCount('SIGHUP')).toBe(0);
  });

  it('restores real clocks after a test file', () => {
    const { setTimeout } = globalThis;

    runFile(({ fakeTimersModern }) => {
      fakeTimersModern.useFakeTimers();
      expect(globalThis.setTimeout).not.toBe(setTimeout);
    });

    expect(globalThis.setTimeout).toBe(setTimeout);
  });
});

it('leaves timers of Node modules real under fake timers', async () => {
  let asked = 0;
  jest.useFakeTimers();

  await waitFor(() => ++asked > 1);
  jest.useRealTimers();

  expect(asked).toBe(2);
});

it('fails a test file with an endless loop by its name, and passes those that wait or come later', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-standstill-'));
  const bodies = {
    'endless.test.js': 'for (;;);',
    'waiting.test.js': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500)',
    'later.test.js': 'expect(1).toBe(1)',
  };
  for (const [name, body] of Object.entries(bodies))
    await writeFile(join(folder, name), `it('ends', () => { ${body} })`);
  const config = {
    rootDir: folder,
    cacheDirectory: join(folder, 'cache'),
    testEnvironment: resolve('tools/jest-environment.cjs'),
    runtime: resolve('tools/jest-runtime.cjs'),
    testEnvironmentOptions: { maxStandstillSeconds: 2 },
    maxWorkers: 2,
  };

  const jest = run('node_modules/jest/bin/jest.js', {}, ['--config', JSON.stringify(config)]);
  await jest.ended;
  await rm(folder, { recursive: true });

  expect(jest.output()).toMatch(/endless\.test\.js: The event loop of this test worker has stood still for \d s/);
  expect(jest.output()).toMatch(/FAIL \S*endless\.test\.js/);
  expect(jest.output()).toContain('Tests:       2 passed, 2 total');
});
