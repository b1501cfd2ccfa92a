import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import { JetStreamEvents } from '@parley/bus/jetstream-events';
import { NatsLink } from '@parley/bus/nats-connection';
import { NatsTransport } from '@parley/bus/nats-transport';
import { hostname } from 'node:os';
import { ConfigError, readConfig } from '@parley/config/config';
import { createLogger, type Logger } from '@parley/logging/logger';
import { NatsConfig, type ProcessConfig } from './config';
import { Readiness } from './health.controller';
import { createHttpApp } from './http-app';
import { Metrics } from './metrics';
import type { Platform } from './platform';

export interface AppDefinition<C extends ProcessConfig> {
  name: string;
  config: new () => C;
  module: (config: C, platform: Platform) => DynamicModule;
}

/** Runs one app of the distributed mode until it is told to stop. A wrong configuration ends the process with its reasons. */
export async function runApp<C extends ProcessConfig>({
  name,
  config: configClass,
  module,
}: AppDefinition<C>): Promise<void> {
  const { config, nats } = readConfigs(configClass);
  const logger = createLogger(name, config.logLevel);
  exitOnUnexpected(logger);
  try {
    const platform = await connectPlatform(name, nats, config.maxBodyBytes, logger);
    const app = await createHttpApp(module(config, platform), logger);
    await app.listen(config.port, config.host);
    logger.info({ url: await app.getUrl() }, `${name} is ready`);
    onStopSignal(async () => {
      logger.info(`${name} is stopping`);
      app.get(Readiness).stop();
      await sleep(config.shutdownGraceMs);
      await app.close();
    }, logger);
  } catch (error) {
    logger.fatal({ err: error }, `${name} could not start: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

/** The bus of the distributed mode. Waits until NATS answers. */
export async function connectPlatform(
  name: string,
  nats: NatsConfig,
  maxBodyBytes: number,
  logger: Logger,
): Promise<Platform> {
  const link = await NatsLink.open(nats.natsUrl, name, logger);
  return {
    transport: new NatsTransport(link, maxBodyBytes, logger),
    events: new JetStreamEvents(link, nats.natsReplicas, logger),
    logger,
    metrics: new Metrics(),
    migrateAtStart: false,
    instance: `${hostname()}:${process.pid}`,
  };
}

/** Stops once, at the first SIGTERM or SIGINT; a second one ends the process at once. */
export function onStopSignal(stop: () => Promise<void>, logger: Logger): void {
  let stopping = false;
  const handle = () => {
    if (stopping) process.exit(130);
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.fatal({ err: error }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}

/** A rejection that nobody handles is a defect to be told, not a reason to drop everyone's requests. */
export function exitOnUnexpected(logger: Logger): void {
  process.on('unhandledRejection', (reason) => logger.error({ err: reason }, 'a rejection was not handled'));
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'an exception was not caught');
    process.exit(1);
  });
}

function readConfigs<C extends ProcessConfig>(type: new () => C): { config: C; nats: NatsConfig } {
  const problems: string[] = [];
  const read = <T extends object>(configClass: new () => T): T => {
    try {
      return readConfig(configClass);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return new configClass();
    }
  };
  const result = { config: read(type), nats: read(NatsConfig) };
  if (problems.length > 0) {
    process.stderr.write(`${new ConfigError(problems).message}\n`);
    process.exit(1);
  }
  return result;
}
