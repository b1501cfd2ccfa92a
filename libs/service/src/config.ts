import { choice, Env, fraction, integer, list, text, url, type VariableOptions } from '@parley/config/config';
import { type NatsCredentials, seedForm, seedPattern } from '@parley/transport/nats-credentials';
import { defaultStatementTimeoutMs } from '@parley/persistence/service-limits';
import type { LogLevel } from '@parley/logging/logger';
import type { TracesSampler } from '@parley/tracing/collector';

export class ProcessConfig {
  @Env({ env: 'HOST', type: text('an address to listen on'), about: 'Address on which the HTTP server listens.' })
  host = '127.0.0.1';

  @Env({ env: 'PORT', type: integer(0, 65_535), about: 'Port on which the HTTP server listens; 0 selects a free one.' })
  port = 3000;

  @Env({
    env: 'METRICS_PORT',
    type: integer(1, 65_535),
    about:
      'Separate port at `HOST` for `/metrics` only. With it, `PORT` serves no metrics, unless `METRICS_TOKEN` is set.',
    optional: true,
  })
  metricsPort?: number;

  @Env({
    env: 'METRICS_TOKEN',
    type: text('at least 16 characters without spaces', /^\S{16,}$/),
    about:
      'Bearer token that `/metrics` requires. Without it and `METRICS_PORT`, `PORT` serves metrics only when `HOST` is a loopback address and `TRUSTED_PROXIES` is not set.',
    optional: true,
  })
  metricsToken?: string;

  @Env({
    env: 'LOG_LEVEL',
    type: choice<LogLevel>('fatal', 'error', 'warn', 'info', 'debug', 'silent'),
    about: 'Minimum level of log messages. The default of the embedded mode is `warn`.',
  })
  logLevel: LogLevel = 'info';

  @Env({
    env: 'TRUSTED_PROXIES',
    need: 'always',
    type: text('addresses or networks such as 10.0.0.0/8, separated by commas', /^[\da-fA-F.:/]+(, ?[\da-fA-F.:/]+)*$/),
    about:
      'Reverse proxies in front of this process. The client address is taken from `x-forwarded-for` in requests from them.',
    optional: true,
  })
  trustedProxies?: string;

  @Env({
    env: 'SHUTDOWN_GRACE_MS',
    type: integer(0, 60_000),
    about:
      'Time in milliseconds from the stop signal until the process stops accepting requests. Meanwhile `/readyz` returns 503, so that load balancers stop sending requests.',
  })
  shutdownGraceMs = 500;

  @Env({
    env: 'SHUTDOWN_TIMEOUT_MS',
    type: integer(100, 600_000),
    about:
      'Time in milliseconds after `SHUTDOWN_GRACE_MS` for requests and uploads to finish. The rest is answered with an error.',
  })
  shutdownTimeoutMs = 800;

  @Env({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    type: url('http', 'https'),
    about:
      'OpenTelemetry collector (OTLP over HTTP) that receives traces. Without it, tracing is off. Other variables of OpenTelemetry, such as `OTEL_SERVICE_NAME`, are supported too.',
    optional: true,
  })
  otlpEndpoint?: string;

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
    about: 'OpenTelemetry sampler that decides which traces are recorded.',
  })
  tracesSampler: TracesSampler = 'parentbased_always_on';

  @Env({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    type: fraction,
    about: 'Fraction of traces that is recorded by a `traceidratio` sampler.',
  })
  tracesRatio = 1;

  /** Size limit of a body on the bus. A body over the NATS message limit is passed by reference. Tests choose another. */
  maxBodyBytes = 64_000_000;

  @Env({
    env: 'MAX_LOOP_DELAY_MS',
    need: 'rarely',
    type: integer(20, 60_000),
    about:
      'Load shedding: event loop delay in milliseconds, on average in each of the last two seconds, above which a process answers new requests with 503.',
  })
  maxLoopDelayMs = 500;
}

export class NatsConfig {
  @Env({
    env: 'NATS_URL',
    need: 'always',
    type: text('one or more nats:// URLs, separated by commas', /^(nats|tls):\/\/.+/),
    about: 'NATS servers with JetStream. Distributed mode only.',
  })
  natsUrl!: string;

  @Env({
    env: 'NATS_REPLICAS',
    type: integer(1, 5),
    about:
      'Replicas of each JetStream stream: 3 survive the loss of one server. Apply changes with `npm run streams`. Distributed mode only.',
  })
  natsReplicas = 1;

  @Env({
    env: 'NATS_NKEY_SEED',
    need: 'always',
    type: text(seedForm, seedPattern),
    about: 'NKey seed with which this app authenticates to NATS. Create seeds with `npm run parley -- nats keys`.',
    optional: true,
  })
  natsSeed?: string;

  @Env({
    env: 'NATS_NKEY_SEED_FILE',
    type: text('a path'),
    about: 'File with the NKey seed. It is read for each connection, so that the seed can be replaced at runtime.',
    optional: true,
  })
  natsSeedFile?: string;

  @Env({
    env: 'NATS_CA_FILE',
    type: text('a path'),
    about: 'File with the certificate authority (PEM) of the NATS servers, unless Node.js trusts it by default.',
    optional: true,
  })
  natsCaFile?: string;

  @Env({
    env: 'NATS_CERT_FILE',
    type: text('a path'),
    about: 'File with the client certificate (PEM), for NATS servers that require one.',
    optional: true,
  })
  natsCertFile?: string;

  @Env({
    env: 'NATS_KEY_FILE',
    type: text('a path'),
    about: 'File with the private key (PEM) of the client certificate.',
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

export class ServiceConfig extends ProcessConfig {
  @Env({
    env: 'DATABASE_URL',
    need: 'always',
    type: url('postgres', 'postgresql'),
    about: 'URL of a Postgres server, version 15 or newer. Without it, the embedded mode starts its own server.',
  })
  databaseUrl!: string;

  @Env({
    env: 'DATABASE_POOL_SIZE',
    type: integer(2, 200),
    about: 'Maximum number of database connections per service and process.',
  })
  databasePoolSize = 10;

  /** Client operations that a process handles concurrently. It answers further ones with 503. Tests choose another number. */
  serviceMaxInFlight = 1_000;

  @Env({
    env: 'DATABASE_TIMEOUT_MS',
    need: 'rarely',
    type: integer(100, 600_000),
    about: 'Timeout of an SQL statement in milliseconds. Migrations have no timeout.',
  })
  statementTimeoutMs = defaultStatementTimeoutMs;
}

const secretKey = text('at least 32 characters', /^.{32,}$/s);

export const secretKeyVariable: VariableOptions<string> = {
  env: 'PARLEY_SECRET_KEY',
  need: 'always',
  type: secretKey,
  about:
    'Key that encrypts stored secrets and signs content URLs. The embedded mode creates one and keeps it in its data folder.',
};

export const formerSecretKeysVariable: VariableOptions<string[]> = {
  env: 'PARLEY_FORMER_SECRET_KEYS',
  type: list(secretKey),
  about: 'Former secret keys, which only decrypt and verify. SECURITY.md describes how to replace the secret key.',
  optional: true,
};

export const operatorWorkspaceVariable: VariableOptions<string> = {
  env: 'HUB_OPERATOR_WORKSPACE_ID',
  need: 'rarely',
  type: text('the id of a workspace, `wkspace_…`', /^wkspace_[0-9A-HJKMNP-TV-Z]{26}$/),
  about:
    "Workspace of the platform's operator. It may publish interfaces under the names of the built-in ones, and its owners and administrators see the operator's pages of the console.",
  optional: true,
  defaultText: 'the workspace created at the very first start',
};

export const strictDeployVariable: VariableOptions<'true' | 'false'> = {
  env: 'PARLEY_STRICT_DEPLOY',
  type: choice<'true' | 'false'>('true', 'false'),
  about:
    'Whether deployments of code that cannot be loaded are refused. Otherwise they succeed with a warning, and single ones are refused with the header `x-parley-strict-deploy: true`.',
};

export const recurringMinSecondsVariable: VariableOptions<number> = {
  env: 'RECURRING_MIN_SECONDS',
  type: integer(1, 86_400),
  about: 'Minimum number of seconds between two events of a recurring event of a bot.',
};

export const eventRetentionDaysVariable: VariableOptions<number> = {
  env: 'EVENT_RETENTION_DAYS',
  type: integer(1, 3_650),
  about: 'Retention of bot events in days. Messages and scheduled events are kept.',
};

export const tunnelUrlVariable: VariableOptions<string> = {
  env: 'TUNNEL_URL',
  type: text('an http:// or https:// URL without a path', /^https?:\/\/[^/?#\s]+$/),
  about: 'URL at which `bp dev` reaches the tunnel: the value of its `--tunnel-url`.',
  optional: true,
  defaultText: '`http://HOST:TUNNEL_PORT` in embedded mode',
};

export const webhookUrlVariable: VariableOptions<string> = {
  env: 'WEBHOOK_URL',
  type: text(
    'an http:// or https:// URL, without a path or with the path /webhooks',
    /^https?:\/\/[^/?#\s]+(\/webhooks)?$/,
  ),
  about:
    'Base URL of the webhooks of integrations; the webhook id of an installation is appended. Without a path, its host serves webhooks only, and answers of integrations are returned unchanged.',
  optional: true,
  defaultText: '`PUBLIC_URL/webhooks`',
};

/** Base URL of the chat API, without a slash at the end. */
export function chatBaseOf({ chatUrl, publicUrl }: { chatUrl?: string; publicUrl: string }): string {
  return chatUrl ?? `${publicUrl}/chat`;
}

/** Base URL of webhooks, without a slash at the end. */
export function webhookBaseOf({ webhookUrl, publicUrl }: { webhookUrl?: string; publicUrl: string }): string {
  return webhookUrl ?? `${publicUrl}/webhooks`;
}

export const sweepIntervalVariable: VariableOptions<number> = {
  env: 'SWEEP_INTERVAL_MS',
  need: 'rarely',
  type: integer(100, 600_000),
  about: 'Interval in milliseconds at which sweepers search for stalled work.',
};
