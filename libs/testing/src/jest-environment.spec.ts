import { createRequire } from 'node:module';
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
