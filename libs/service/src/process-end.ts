import type { Logger } from '@parley/logging/logger';

/** Debounce: a terminal signals both npm and this process, and npm forwards its signal. */
const sameSignalMs = 500;

/**
 * Graceful stop, once, at the first SIGTERM or SIGINT, or by the returned function. A second signal ends the process at
 * once.
 */
export function onStopSignal(stop: () => Promise<void>, logger: Logger): () => void {
  let begun: number | undefined;
  const begin = () => {
    if (begun !== undefined) return;
    begun = performance.now();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.fatal({ err: error }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  const handle = () => {
    if (begun !== undefined && performance.now() - begun > sameSignalMs) process.exit(130);
    begin();
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
  return begin;
}

/**
 * An unhandled rejection is logged and does not end the process, which would drop all requests. An uncaught exception
 * ends it.
 */
export function exitOnUnexpected(logger: Logger): void {
  process.on('unhandledRejection', (reason) => logger.error({ err: reason }, 'a rejection was not handled'));
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'an exception was not caught');
    process.exit(1);
  });
}
