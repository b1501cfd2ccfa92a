import { choice, Env, fraction, integer, list, text, url, type VariableOptions } from '@parley/config/config';
import { type NatsCredentials, seedForm, seedPattern } from '@parley/bus/nats-connection';
import { defaultMaxWaiting, defaultStatementTimeoutMs } from '@parley/database/database';
import type { LogLevel } from '@parley/logging/logger';

type TracesSampler =
  'always_on' | 'always_off' | 'traceidratio' | `parentbased_${'always_on' | 'always_off' | 'traceidratio'}`;

/** What every process reads. */
export class ProcessConfig {
  @Env({ env: 'HOST', type: text('an address to listen on'), about: 'Address that HTTP listens on.' })
  host = '127.0.0.1';

  @Env({ env: 'PORT', type: integer(0, 65_535), about: 'Port that HTTP listens on; 0 takes a free one.' })
  port = 3000;

  @Env({
    env: 'METRICS_PORT',
    type: integer(1, 65_535),
    about:
      'Port that serves `/metrics` and nothing else, at `HOST`. `PORT` shows none then, unless `METRICS_TOKEN` is set.',
    optional: true,
  })
  metricsPort?: number;

  @Env({
    env: 'METRICS_TOKEN',
    type: text('at least 16 characters without spaces', /^\S{16,}$/),
    about:
      'Bearer token that `/metrics` asks for. Without it and `METRICS_PORT`, `PORT` shows metrics only where `HOST` is this machine alone and no proxy is trusted.',
    optional: true,
  })
  metricsToken?: string;

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
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    type: url('http', 'https'),
    about:
      'Collector that spans are sent to, as OTLP over HTTP. Nothing is traced without it. Other variables of OpenTelemetry count too.',
    optional: true,
  })
  otlpEndpoint?: string;

  @Env({
    env: 'OTEL_SERVICE_NAME',
    type: text('a name'),
    about: 'What the traces call this process.',
    optional: true,
    defaultText: 'the name of the app',
  })
  tracedName?: string;

  @Env({
    env: 'OTEL_TRACES_SAMPLER',
    type: choice<TracesSampler>(
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ),
    about: 'Which traces are recorded.',
  })
  tracesSampler: TracesSampler = 'parentbased_always_on';

  @Env({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    type: fraction,
    about: 'The part of the traces that is recorded, where a ratio counts.',
  })
  tracesRatio = 1;

  @Env({
    env: 'BUS_MAX_BODY_BYTES',
    type: integer(100_000, 64_000_000),
    about: 'Largest body that passes the bus. What does not fit one NATS message passes by reference.',
  })
  maxBodyBytes = 64_000_000;

  @Env({
    env: 'MAX_LOOP_DELAY_MS',
    type: integer(20, 60_000),
    about: 'How late the event loop may be for two seconds before a process answers 503 to what is new.',
  })
  maxLoopDelayMs = 500;
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
    about:
      'Copies of each stream in a NATS cluster: 3 survive the loss of a server. `npm run streams` changes it. Distributed mode only.',
  })
  natsReplicas = 1;

  @Env({
    env: 'NATS_NKEY_SEED',
    type: text(seedForm, seedPattern),
    about: 'The key by which this app shows NATS who it is. `npm run parley -- nats keys` makes them.',
    optional: true,
  })
  natsSeed?: string;

  @Env({
    env: 'NATS_NKEY_SEED_FILE',
    type: text('a path'),
    about: 'A file that holds this key. It is read for each connection, so that a key can be replaced.',
    optional: true,
  })
  natsSeedFile?: string;

  @Env({
    env: 'NATS_CA_FILE',
    type: text('a path'),
    about: 'Certificate authority (PEM) that the certificates of NATS are signed by, unless Node.js knows it.',
    optional: true,
  })
  natsCaFile?: string;

  @Env({
    env: 'NATS_CERT_FILE',
    type: text('a path'),
    about: 'Certificate (PEM) that this app shows to a NATS server which wants one.',
    optional: true,
  })
  natsCertFile?: string;

  @Env({
    env: 'NATS_KEY_FILE',
    type: text('a path'),
    about: 'Private key (PEM) of this certificate.',
    optional: true,
  })
  natsKeyFile?: string;

  get credentials(): NatsCredentials {
    return {
      seed: this.natsSeed,
      seedFile: this.natsSeedFile,
      caFile: this.natsCaFile,
      certFile: this.natsCertFile,
      keyFile: this.natsKeyFile,
    };
  }
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
    env: 'DATABASE_MAX_WAITING',
    type: integer(1, 100_000),
    about: 'How many may wait for a connection of a service. The next one is answered 503 at once.',
  })
  databaseMaxWaiting = defaultMaxWaiting;

  @Env({
    env: 'SERVICE_MAX_IN_FLIGHT',
    type: integer(1, 100_000),
    about: 'How many operations of clients a service works on at once. The next one is answered 503 at once.',
  })
  serviceMaxInFlight = 1_000;

  @Env({
    env: 'DATABASE_TIMEOUT_MS',
    type: integer(100, 600_000),
    about: 'How long one statement may take before it is stopped. Migrations take as long as they need.',
  })
  statementTimeoutMs = defaultStatementTimeoutMs;
}

const secretKey = text('at least 32 characters', /^.{32,}$/s);

/** For services that encrypt or sign. */
export const secretKeyVariable: VariableOptions<string> = {
  env: 'PARLEY_SECRET_KEY',
  type: secretKey,
  about:
    'What secrets are encrypted and content URLs are signed with. The embedded mode makes one and keeps it in its data folder.',
};

/** For the same services. */
export const formerSecretKeysVariable: VariableOptions<string[]> = {
  env: 'PARLEY_FORMER_SECRET_KEYS',
  type: list(secretKey),
  about: 'Other secret keys that are opened and verified with, and never sealed or signed with: see SECURITY.md.',
  optional: true,
};

/** For those who declare recurring events and those who make them. */
export const recurringMinSecondsVariable: VariableOptions<number> = {
  env: 'RECURRING_MIN_SECONDS',
  type: integer(1, 86_400),
  about: 'Seconds between two events that the same recurring event of a bot makes, at least.',
};

/** For those who keep events and those who count what they take. */
export const eventRetentionDaysVariable: VariableOptions<number> = {
  env: 'EVENT_RETENTION_DAYS',
  type: integer(1, 3_650),
  about: 'Days after which events of bots are deleted. Messages, and what is scheduled, stay.',
};

/** For services that look by themselves for what is left to do. */
export const sweepIntervalVariable: VariableOptions<number> = {
  env: 'SWEEP_INTERVAL_MS',
  type: integer(100, 600_000),
  about: 'Pause between two looks for work that has stopped moving.',
};
