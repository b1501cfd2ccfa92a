import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { withTimeout } from '@parley/background/with-timeout';
import { JetStreamEvents } from '@parley/transport/jetstream-events';
import { NatsLink } from '@parley/transport/nats-connection';
import { NatsDriver } from '@parley/transport/nats-driver';
import { hostname } from 'node:os';
import { ConfigError, readConfigs } from '@parley/config/config';
import { warningsAboutUnknown } from '@parley/config/unknown-variables';
import { createLogger, type Logger } from '@parley/logging/logger';
import { NatsConfig, type ProcessConfig } from './config';
import { Readiness } from './health.controller';
import { tuneHeapForLoad } from './heap';
import { createHybridApp } from './hybrid-app';
import { Metrics } from './metrics';
import { serveMetrics } from './metrics-server';
import type { Platform } from './platform';
import { exitOnUnexpected, onStopSignal } from './process-end';
import { flushMs, traceProcess } from './trace-process';

export interface AppDefinition<C extends ProcessConfig> {
  name: string;
  config: new () => C;
  module: (config: C, platform: Platform) => DynamicModule;
}

/** Time to close database and bus connections after all requests have ended. */
const closeMs = 400;

/**
 * Runs one app of the distributed mode until a stop signal. An invalid configuration ends the process with its
 * problems.
 */
export async function runApp<C extends ProcessConfig>(definition: AppDefinition<C>): Promise<void> {
  const { name } = definition;
  const { config, nats } = readBoth(definition.config);
  const logger = createLogger(name, config.logLevel);
  exitOnUnexpected(logger);
  for (const warning of warningsAboutUnknown(process.env)) logger.warn(warning);
  const stopTracing = await traceProcess(`parley-${name}`, config, logger);
  const starting = startApp(definition, config, nats, logger);
  onStopSignal(async () => {
    logger.info(`${name} is stopping`);
    const isDone = await withTimeout(stopLimitMs(config), stopApp(starting, config));
    if (!isDone) logger.warn(`${name} exits before everything has stopped`);
    await stopTracing(flushMs);
  }, logger);
  try {
    const app = await starting;
    tuneHeapForLoad();
    logger.info({ url: await app.getUrl() }, `${name} is ready`);
  } catch (error) {
    logger.fatal({ err: error }, `${name} could not start: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

async function startApp<C extends ProcessConfig>(
  { name, module }: AppDefinition<C>,
  config: C,
  nats: NatsConfig,
  logger: Logger,
): Promise<NestFastifyApplication> {
  let hasStarted!: () => void;
  const started = new Promise<void>((resolve) => (hasStarted = resolve));
  const platform = { ...(await connectPlatform(name, nats, config.maxBodyBytes, logger)), started };
  const app = await createHybridApp(module(config, platform), logger, config);
  // Runs until the process ends, so that metrics of a stopping process can be scraped.
  await serveMetrics(config, platform.metrics);
  await app.listen(config.port, config.host);
  hasStarted();
  return app;
}

/** A starting process may have received work already, so the start is finished first. */
async function stopApp(starting: Promise<NestFastifyApplication>, { shutdownGraceMs }: ProcessConfig): Promise<void> {
  const app = await starting;
  app.get(Readiness).stop();
  await sleep(shutdownGraceMs);
  await app.close();
}

/** Upper bound of a stop, even when a database, broker or client does not respond. */
function stopLimitMs({ shutdownGraceMs, shutdownTimeoutMs }: ProcessConfig): number {
  return shutdownGraceMs + shutdownTimeoutMs + closeMs;
}

/** Connects to NATS in the distributed mode. Waits until NATS responds. */
export async function connectPlatform(
  name: string,
  nats: NatsConfig,
  maxBodyBytes: number,
  logger: Logger,
): Promise<Platform> {
  const link = await NatsLink.open(nats.natsUrl, name, logger, nats.credentials);
  return {
    driver: new NatsDriver(link, maxBodyBytes, nats.natsReplicas, logger),
    events: new JetStreamEvents(link, nats.natsReplicas, logger),
    logger,
    metrics: new Metrics(),
    migrateAtStart: false,
    instance: `${hostname()}:${process.pid}`,
    isOnlyProcess: false,
  };
}

function readBoth<C extends ProcessConfig>(type: new () => C): { config: C; nats: NatsConfig } {
  try {
    return readConfigs({ config: type, nats: NatsConfig });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
