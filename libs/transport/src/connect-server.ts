import type { ExceptionFilter, INestApplication } from '@nestjs/common';
import type { MicroserviceOptions, NestMicroservice } from '@nestjs/microservices';
import type { ParleyServer } from './parley-server';

/**
 * Adds the server to a Nest app as a microservice; `app.startAllMicroservices()` starts it.
 *
 * @param filter must throw the errors of messages again: Nest's own filter would replace each by "Internal server error",
 *   and the server could not answer with an ApiError.
 */
export function connectServer(app: INestApplication, server: ParleyServer, filter: ExceptionFilter): void {
  const microservice = app.connectMicroservice<MicroserviceOptions>(
    { strategy: server },
    // The enhancers of HTTP (`APP_GUARD`, `APP_FILTER` …) do not apply to messages. Deferred, because a handler that is
    // bound at once does not get the filter.
    { inheritAppConfig: false, deferInitialization: true },
  );
  microservice.useGlobalFilters(filter);
  // The app calls the hooks of its modules; a deferred microservice would call them a second time.
  (microservice as NestMicroservice).setIsInitHookCalled(true);
}
