import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from '@parley/logging/logger';
import { connectServer } from '@parley/transport/connect-server';
import { ParleyServer } from '@parley/transport/parley-server';
import { ApiExceptionFilter } from './api-exception.filter';
import type { ProcessConfig } from './config';
import { createHttpApp } from './http-app';

/**
 * Creates a Nest application that serves HTTP and the bus, without listening for HTTP. It answers messages after
 * everything else is initialized. If that fails, the app is closed again.
 */
export async function createHybridApp(
  module: DynamicModule,
  logger: Logger,
  options?: Pick<ProcessConfig, 'trustedProxies'>,
): Promise<NestFastifyApplication> {
  const app = await createHttpApp(module, logger, options);
  try {
    connectServer(app, app.get(ParleyServer, { strict: false }), app.get(ApiExceptionFilter, { strict: false }));
    await app.startAllMicroservices();
    return app;
  } catch (error) {
    await app.close().catch((reason: unknown) => logger.error({ err: reason }, 'could not close after a failed start'));
    throw error;
  }
}
