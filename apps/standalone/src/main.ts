import '@parley/service/tune-heap';
import 'reflect-metadata';
import { ConfigError } from '@parley/config/config';
import { warningsAboutUnknown } from '@parley/config/unknown-variables';
import { OutdatedSchema } from '@parley/persistence/database';
import { CannotConnect } from '@parley/persistence/errors';
import { CannotOpenData } from '@parley/local-postgres/cannot-open-data';
import { createLogger } from '@parley/logging/logger';
import { tuneHeapForLoad } from '@parley/service/heap';
import { exitOnUnexpected, onStopSignal } from '@parley/service/process-end';
import { flushMs, traceProcess } from '@parley/service/trace-process';
import { readStandaloneConfig } from './app-configs';
import { EmbeddedPlatform } from './embedded';
import { CannotListen } from './public-listener';

/** Errors that the operator can fix. Printed without a stack trace. */
const expected = [CannotConnect, CannotListen, CannotOpenData, ConfigError, OutdatedSchema];
const parentCheckMs = 250;
const stopping = new AbortController();

async function main(): Promise<void> {
  const config = readStandaloneConfig();
  const logger = createLogger('parley', config.logLevel);
  exitOnUnexpected(logger);
  for (const warning of warningsAboutUnknown(process.env)) logger.warn(warning);
  const stopTracing = await traceProcess('parley', config, logger);
  const stop = onStopSignal(async () => {
    process.stdout.write('Parley is stopping …\n');
    stopping.abort();
    // A start that fails undoes its own steps; `stop` needs a finished start.
    const platform = await starting.catch(() => undefined);
    await platform?.stop();
    await stopTracing(flushMs);
  }, logger);
  stopWithNpm(stop);
  process.stdout.write('Parley is starting …\n');
  const starting = EmbeddedPlatform.start(config, logger, stopping.signal);
  const { welcome } = await starting;
  tuneHeapForLoad();
  if (!stopping.signal.aborted) process.stdout.write(welcome);
}

/** Stops when npm ends: killing only npm under `npm start` would leave this process running in the background. */
function stopWithNpm(stop: () => void): void {
  const parent = Number(process.env['PARLEY_PARENT_PID'] ?? 0);
  if (!parent) return;
  const watch = setInterval(() => {
    if (isAlive(parent)) return;
    clearInterval(watch);
    stop();
  }, parentCheckMs).unref();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other error, such as EPERM, means that the process exists.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

main().catch((error: unknown) => {
  if (stopping.signal.aborted) return;
  const isExpected = expected.some((type) => error instanceof type);
  const { message, stack } = error as Error;
  process.stderr.write(`\nParley could not start.\n${isExpected ? message : (stack ?? String(error))}\n`);
  process.exit(1);
});
