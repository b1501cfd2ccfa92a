import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { within } from '@parley/background/within';
import { JetStreamEvents } from '@parley/bus/jetstream-events';
import { NatsLink } from '@parley/bus/nats-connection';
import { NatsTransport } from '@parley/bus/nats-transport';
import { hostname } from 'node:os';
import { ConfigError, readConfigs } from '@parley/config/config';
import { createLogger, type Logger } from '@parley/logging/logger';
import { NatsConfig, type ProcessConfig } from './config';
import { Readiness } from './health.controller';
import { createHttpApp } from './http-app';
import { Metrics } from './metrics';
import { serveMetrics } from './metrics-server';
import type { Platform } from './platform';
import { flushMs, traceProcess } from './trace-process';

export interface AppDefinition<C extends ProcessConfig> {
  name: string;
  config: new () => C;
  module: (config: C, platform: Platform) => DynamicModule;
}

/** For closing the connections to the database and the bus, when nothing is under way any more. */
const closeMs = 400;
/** A terminal signals npm and us, and npm passes it on: what comes within this time is one wish. */
const sameSignalMs = 500;

/** Runs one app of the distributed mode until it is told to stop. A wrong configuration ends the process with its reasons. */
export async function runApp<C extends ProcessConfig>(definition: AppDefinition<C>): Promise<void> {
  const { name } = definition;
  const { config, nats } = readBoth(definition.config);
  const logger = createLogger(name, config.logLevel);
  exitOnUnexpected(logger);
  const stopTracing = await traceProcess(`parley-${name}`, config, logger);
  const starting = startApp(definition, config, nats, logger);
  onStopSignal(async () => {
    logger.info(`${name} is stopping`);
    const isDone = await within(stopLimitMs(config), stopApp(starting, config));
    if (!isDone) logger.warn(`${name} ends although something of it has not ended`);
    await stopTracing(flushMs);
  }, logger);
  try {
    const app = await starting;
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
  const platform = await connectPlatform(name, nats, config.maxBodyBytes, logger);
  const app = await createHttpApp(module(config, platform), logger, config);
  // Until the process ends: what a stopping one measures is worth to be read.
  await serveMetrics(config, platform.metrics);
  await app.listen(config.port, config.host);
  return app;
}

/** While it starts it may have been given work already: then it starts first. */
async function stopApp(starting: Promise<NestFastifyApplication>, { shutdownGraceMs }: ProcessConfig): Promise<void> {
  const app = await starting;
  app.get(Readiness).stop();
  await sleep(shutdownGraceMs);
  await app.close();
}

/** A process ends in this time whatever it waits for: a database, a broker or a client that does not answer. */
function stopLimitMs({ shutdownGraceMs, shutdownTimeoutMs }: ProcessConfig): number {
  return shutdownGraceMs + shutdownTimeoutMs + closeMs;
}

/** The bus of the distributed mode. Waits until NATS answers. */
export async function connectPlatform(
  name: string,
  nats: NatsConfig,
  maxBodyBytes: number,
  logger: Logger,
): Promise<Platform> {
  const link = await NatsLink.open(nats.natsUrl, name, logger, nats.credentials);
  return {
    transport: new NatsTransport(link, maxBodyBytes, nats.natsReplicas, logger),
    events: new JetStreamEvents(link, nats.natsReplicas, logger),
    logger,
    metrics: new Metrics(),
    migrateAtStart: false,
    instance: `${hostname()}:${process.pid}`,
  };
}

/**
 * Stops once, at the first SIGTERM or SIGINT or by the function that it gives. A later signal ends the process at once.
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

/** A rejection that nobody handles is a defect to be told, not a reason to drop everyone's requests. */
export function exitOnUnexpected(logger: Logger): void {
  process.on('unhandledRejection', (reason) => logger.error({ err: reason }, 'a rejection was not handled'));
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'an exception was not caught');
    process.exit(1);
  });
}

/** A wrong configuration ends the process. */
function readBoth<C extends ProcessConfig>(type: new () => C): { config: C; nats: NatsConfig } {
  try {
    return readConfigs({ config: type, nats: NatsConfig });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
