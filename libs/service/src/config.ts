import { choice, Env, integer, text, url, type VariableOptions } from '@parley/config/config';
import { defaultStatementTimeoutMs } from '@parley/database/database';
import type { LogLevel } from '@parley/logging/logger';

/** What every process reads. */
export class ProcessConfig {
  @Env({ env: 'HOST', type: text('an address to listen on'), about: 'Address that HTTP listens on.' })
  host = '127.0.0.1';

  @Env({ env: 'PORT', type: integer(0, 65_535), about: 'Port that HTTP listens on; 0 takes a free one.' })
  port = 3000;

  @Env({
    env: 'LOG_LEVEL',
    type: choice<LogLevel>('fatal', 'error', 'warn', 'info', 'debug', 'silent'),
    about: 'Least severe level that is logged. The embedded mode logs `warn` and above unless it is set.',
  })
  logLevel: LogLevel = 'info';

  @Env({
    env: 'TRUSTED_PROXIES',
    type: text('addresses or networks such as 10.0.0.0/8, separated by commas', /^[\da-fA-F.:/]+(, ?[\da-fA-F.:/]+)*$/),
    about: 'Proxies in front of this process: of what they forward, `x-forwarded-for` says where it comes from.',
    optional: true,
  })
  trustedProxies?: string;

  @Env({
    env: 'SHUTDOWN_GRACE_MS',
    type: integer(0, 60_000),
    about: 'How long a stopping process says that it is not ready and still serves, so that a balancer can turn away.',
  })
  shutdownGraceMs = 500;

  @Env({
    env: 'SHUTDOWN_TIMEOUT_MS',
    type: integer(100, 600_000),
    about:
      'How long after that requests and uploads under way may still take. What has not ended then is answered with an error.',
  })
  shutdownTimeoutMs = 800;

  @Env({
    env: 'BUS_MAX_BODY_BYTES',
    type: integer(100_000, 64_000_000),
    about: 'Largest body that passes the bus. What does not fit one NATS message passes by reference.',
  })
  maxBodyBytes = 64_000_000;
}

/** What connects a process of the distributed mode with NATS. */
export class NatsConfig {
  @Env({
    env: 'NATS_URL',
    type: text('one or more nats:// URLs, separated by commas', /^(nats|tls):\/\/.+/),
    about: 'NATS servers with JetStream. Distributed mode only.',
  })
  natsUrl!: string;

  @Env({
    env: 'NATS_REPLICAS',
    type: integer(1, 5),
    about: 'Copies of the event stream in a NATS cluster. Distributed mode only.',
  })
  natsReplicas = 1;
}

/** What a service with a schema of its own reads. */
export class ServiceConfig extends ProcessConfig {
  @Env({
    env: 'DATABASE_URL',
    type: url('postgres', 'postgresql'),
    about: 'Postgres 15 or newer. The embedded mode starts its own server unless this is set.',
  })
  databaseUrl!: string;

  @Env({ env: 'DATABASE_POOL_SIZE', type: integer(2, 200), about: 'Connections that each service keeps at most.' })
  databasePoolSize = 10;

  @Env({
    env: 'DATABASE_TIMEOUT_MS',
    type: integer(100, 600_000),
    about: 'How long one statement may take before it is stopped. Migrations take as long as they need.',
  })
  statementTimeoutMs = defaultStatementTimeoutMs;
}

/** For services that encrypt or sign. */
export const secretKeyVariable: VariableOptions<string> = {
  env: 'PARLEY_SECRET_KEY',
  type: text('at least 32 characters', /^.{32,}$/s),
  about:
    'What secrets are encrypted and content URLs are signed with. The embedded mode makes one and keeps it in its data folder.',
};

/** For services that look by themselves for what is left to do. */
export const sweepIntervalVariable: VariableOptions<number> = {
  env: 'SWEEP_INTERVAL_MS',
  type: integer(100, 600_000),
  about: 'Pause between two looks for work that has stopped moving.',
};
