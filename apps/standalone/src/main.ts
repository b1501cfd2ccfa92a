import 'reflect-metadata';
import { ConfigError, readConfig } from '@parley/config/config';
import { DataFolderInUse } from '@parley/local-postgres/data-folder';
import { createLogger } from '@parley/logging/logger';
import { exitOnUnexpected, onStopSignal } from '@parley/service/run';
import { StandaloneConfig } from './config';
import { EmbeddedPlatform } from './embedded';

const parentCheckMs = 250;
const stopping = new AbortController();

async function main(): Promise<void> {
  const config = readConfig(StandaloneConfig);
  const logger = createLogger('parley', config.logLevel);
  exitOnUnexpected(logger);
  const stop = onStopSignal(async () => {
    process.stdout.write('Parley is stopping …\n');
    stopping.abort();
    // Only what has started can be stopped as a whole; a start that fails undoes itself.
    const platform = await starting.catch(() => undefined);
    await platform?.stop();
  }, logger);
  stopWithNpm(stop);
  process.stdout.write('Parley is starting …\n');
  const starting = EmbeddedPlatform.start(config, logger, stopping.signal);
  const { welcome } = await starting;
  if (!stopping.signal.aborted) process.stdout.write(welcome);
}

/** Under `npm start`, a kill of npm alone would leave this process behind, and the person who started it without a handle. */
function stopWithNpm(stop: () => void): void {
  const parent = Number(process.env['PARLEY_PARENT_PID'] ?? 0);
  if (!parent) return;
  setInterval(() => {
    if (!isAlive(parent)) stop();
  }, parentCheckMs).unref();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other error tells of a process that is there, such as one of another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

main().catch((error: unknown) => {
  if (stopping.signal.aborted) return;
  const expected = error instanceof ConfigError || error instanceof DataFolderInUse;
  const { code, message, stack, port } = error as NodeJS.ErrnoException & { port?: number };
  const text =
    code === 'EADDRINUSE'
      ? `Port ${port ?? ''} is taken by another program: stop it, or set PORT to another one.`
      : expected
        ? message
        : stack;
  process.stderr.write(`\nParley could not start.\n${text ?? String(error)}\n`);
  process.exit(1);
});
