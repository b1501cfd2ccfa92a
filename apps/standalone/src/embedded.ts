import { chmod, mkdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AdminModule } from '../../admin/src/admin.module';
import { ChatModule } from '../../chat/src/chat.module';
import { FilesModule } from '../../files/src/files.module';
import { FilesWorkerModule } from '../../files-worker/src/files-worker.module';
import { GatewayModule } from '../../gateway/src/gateway.module';
import { HubModule } from '../../hub/src/hub.module';
import { ModelsModule } from '../../models/src/models.module';
import { RunnerModule } from '../../runner/src/runner.module';
import { RuntimeModule } from '../../runtime/src/runtime.module';
import { TablesModule } from '../../tables/src/tables.module';
import { withTimeout } from '@parley/background/with-timeout';
import { ParleyClient } from '@parley/transport/parley-client';
import { InProcessHub, InProcessDriver } from '@parley/transport/in-process-driver';
import { ConfigError } from '@parley/config/config';
import { WritesRefused } from '@parley/contracts/errors';
import { isLocalOnly } from '@parley/config/loopback';
import { Database } from '@parley/persistence/database';
import { explainDataError } from '@parley/local-postgres/cannot-open-data';
import { DataFolder, DataFolderInUse } from '@parley/local-postgres/data-folder';
import { type LocalPostgres, startLocalPostgres } from '@parley/local-postgres/local-postgres';
import type { Logger } from '@parley/logging/logger';
import { WorkRepository } from '@parley/work-queue/work.repository';
import { eventsSchema } from '@parley/events/events-schema';
import { PostgresEvents } from '@parley/events/postgres-events';
import { openKeyFile } from '@parley/secrets/key-file';
import { Readiness } from '@parley/service/health.controller';
import { createHybridApp } from '@parley/service/hybrid-app';
import { Metrics } from '@parley/service/metrics';
import { serveMetrics } from '@parley/service/metrics-server';
import { measureWork } from '@parley/service/work-metrics';
import type { Platform } from '@parley/service/platform';
import { readAppConfigs } from './app-configs';
import type { StandaloneConfig } from './config';
import {
  consoleLinkOf,
  type Credentials,
  credentialsPath,
  findOwner,
  openToken,
  saveCredentials,
  webchatUrlOf,
} from './credentials';
import { PublicListener } from './public-listener';

const usualPort = 3000;
const usualTunnelPort = 3100;

/** Time for apps to release their work and to close. Postgres is stopped afterwards in any case. */
const closeMs = 300;
/** Minimum for each step after the time limit has passed. */
const leastCloseMs = 100;
/** A process whose npm was killed detects it and ends within this time. */
const claimPatienceMs = 3_000;

/**
 * Embedded mode: the whole platform in one process, as one Nest container per app with a shared bus, Postgres and HTTP
 * server.
 */
export class EmbeddedPlatform {
  private readonly started: (() => Promise<void>)[] = [];
  private readonly apps: NestFastifyApplication[] = [];
  private credentials?: Credentials;
  private isTokenNew = false;
  private consoleLink?: string;
  private webchatUrl?: string;
  private isolation?: string;
  private tunnelUrl?: string;
  /** Silenced when Postgres stops before all apps have closed: their errors have no meaning then. */
  private readonly appsLogger: Logger;
  private closeBy = Infinity;
  private hasStarted!: () => void;
  private readonly whenStarted = new Promise<void>((resolve) => (this.hasStarted = resolve));

  private constructor(
    private readonly config: StandaloneConfig,
    private readonly logger: Logger,
  ) {
    this.appsLogger = logger.child({});
  }

  /** When a step fails, the steps before it are undone. The signal aborts the start of Postgres. */
  static async start(config: StandaloneConfig, logger: Logger, signal: AbortSignal): Promise<EmbeddedPlatform> {
    const platform = new EmbeddedPlatform(config, logger);
    try {
      await platform.boot(signal);
      return platform;
    } catch (error) {
      await platform.undo();
      throw process.env['DATABASE_URL'] && error instanceof WritesRefused
        ? error
        : await explainDataError(config.dataDir, error);
    }
  }

  /** Printed at the end of the start. Contains the token only if it is new. */
  get welcome(): string {
    const { url, email, workspaceId, token } = this.credentials!;
    const folder = displayed(this.config.dataDir);
    return [
      '',
      '  Parley is ready',
      '',
      `  URL        ${url}`,
      `  Account    ${email}`,
      `  Workspace  ${workspaceId}`,
      `  Token      ${this.isTokenNew ? `${token}  (shown this once)` : `in ${credentialsPath(folder)}`}`,
      `  Data       ${folder}`,
      `  Isolation  ${this.isolation}`,
      `  Console    ${this.consoleLink}`,
      `  API        ${url}/docs`,
      ...(this.webchatUrl ? [`  Web chat   ${this.webchatUrl}`] : []),
      ...this.tunnelLine,
      '',
      '  Try        npm run demo -- README.md',
      '',
      '',
    ].join('\n');
  }

  /** Empty where the tunnel is turned off by TUNNEL_PORT=0. */
  private get tunnelLine(): string[] {
    if (this.tunnelUrl) return [`  Bots       bp dev --tunnel-url ${this.tunnelUrl}`];
    if (process.env['TUNNEL_PORT']) return [];
    return [`  Bots       bp dev needs a tunnel: start with TUNNEL_PORT=${tunnelPortBeside(this.config.port)}`];
  }

  /** Reports "not ready", serves on for the grace period, then stops the parts in reverse order of their start. */
  async stop(): Promise<void> {
    for (const app of this.apps) app.get(Readiness).stop();
    await sleep(this.config.shutdownGraceMs);
    await this.undo();
  }

  private async undo(): Promise<void> {
    this.closeBy = performance.now() + this.config.shutdownTimeoutMs + closeMs;
    for (const step of this.started.splice(0).reverse()) {
      await step().catch((error: unknown) => this.logger.error({ err: error }, 'a part of the platform did not stop'));
    }
  }

  private get timeLeftMs(): number {
    return Math.max(leastCloseMs, this.closeBy - performance.now());
  }

  private async boot(signal: AbortSignal): Promise<void> {
    const { dataDir, port, host, maxBodyBytes } = this.config;
    const folder = await claim(dataDir);
    this.started.push(() => folder.release());
    const openness = await folder.findOpenness();
    if (openness) this.logger.warn(openness);
    const api = await PublicListener.listen(port, host);
    this.started.push(() => api.close(0));
    const publicUrl = this.config.publicUrl ?? api.url;
    await folder.announce(publicUrl);

    const { token, isNew } = await openToken(folder.path);
    const blobsDir = process.env['BLOBS_DIR'] || (await privateFolder(join(folder.path, 'blobs')));
    const env = {
      ...process.env,
      LOG_LEVEL: this.config.logLevel,
      BLOBS_DIR: blobsDir,
      PUBLIC_URL: publicUrl,
      CONTENT_URL: process.env['CONTENT_URL'] || publicUrl,
      FILES_URL: api.url,
      ...tunnelSettings(api.url, port),
      ...(await openSecretKeys(folder.path)),
      ...(isLocalOnly(this.config) ? { RATE_LIMIT_PER_SECOND: process.env['RATE_LIMIT_PER_SECOND'] || '0' } : {}),
      PARLEY_BOOTSTRAP_TOKEN: process.env['PARLEY_BOOTSTRAP_TOKEN'] || token,
      DATABASE_URL: process.env['DATABASE_URL'] || (await this.startPostgres(folder.path, signal)).url,
    };
    const configs = readAppConfigs(env);
    const metrics = new Metrics();
    this.started.push(await serveMetrics(this.config, metrics));
    const events = await this.openEvents(env.DATABASE_URL, metrics);
    const hub = new InProcessHub();
    const platform = (): Platform => ({
      driver: new InProcessDriver(hub, maxBodyBytes, this.appsLogger),
      events,
      deliveries: events.deliveries,
      logger: this.appsLogger,
      metrics,
      migrateAtStart: true,
      instance: 'embedded',
      isOnlyProcess: true,
      started: this.whenStarted,
    });

    this.started.push(() => this.closeApps());
    const [files, runner] = await allOpen([
      this.open(FilesModule.register(configs.files, platform())),
      this.open(RunnerModule.register(configs.runner, platform())),
      this.open(AdminModule.register(configs.admin, platform())),
      this.open(FilesWorkerModule.register(configs.filesWorker, platform())),
      this.open(HubModule.register(configs.hub, platform())),
      this.open(ModelsModule.register(configs.models, platform())),
      this.open(TablesModule.register(configs.tables, platform())),
      this.open(ChatModule.register(configs.chat, platform())),
      this.open(RuntimeModule.register(configs.runtime, platform())),
    ]);
    const gateway = await this.open(GatewayModule.register(configs.gateway, platform()));
    await events.open();
    this.route(api, gateway, files!);

    const client = new ParleyClient(platform().driver);
    const { bootstrapEmail, chatUrl = `${publicUrl}/chat` } = configs.admin;
    const owner = await findOwner(client, bootstrapEmail, env.PARLEY_BOOTSTRAP_TOKEN);
    this.credentials = { url: publicUrl, chatUrl, ...owner };
    this.consoleLink = await consoleLinkOf(client, owner.email);
    this.webchatUrl = await webchatUrlOf(client, owner.workspaceId);
    this.isolation = runner!.get(RunnerModule).isolation;
    this.tunnelUrl = configs.gateway.tunnelUrl;
    this.isTokenNew = isNew || owner.token !== env.PARLEY_BOOTSTRAP_TOKEN;
    await saveCredentials(folder.path, this.credentials);
    this.hasStarted();
  }

  private async startPostgres(folder: string, signal: AbortSignal): Promise<LocalPostgres> {
    const postgres = await startLocalPostgres({ folder, signal, log: (message) => this.logger.warn(message) });
    this.started.push(() => postgres.stop());
    return postgres;
  }

  private async openEvents(url: string, metrics: Metrics): Promise<PostgresEvents> {
    const database = await Database.open({
      url,
      ...eventsSchema,
      poolSize: 10,
      started: this.whenStarted,
      onWritesRefused: () => metrics.countWritesRefused('database'),
    });
    this.started.push(async () => void (await withTimeout(this.timeLeftMs, database.close())));
    await database.migrate();
    const deliveries = new WorkRepository(database);
    measureWork(metrics, 'events', () => deliveries.measureDepth());
    return new PostgresEvents(database, this.appsLogger, {
      onAttemptEnded: (consumer, end) => metrics.countAttempt('events', consumer, end),
    });
  }

  private async open(module: DynamicModule): Promise<NestFastifyApplication> {
    const app = await createHybridApp(module, this.appsLogger, this.config);
    this.apps.push(app);
    return app;
  }

  /** Gateway first, because it calls the other apps. Uses the time that closing the HTTP server left over. */
  private async closeApps(): Promise<void> {
    const [gateway, ...others] = [...this.apps].reverse();
    const closed = gateway?.close().then(() => Promise.all(others.map((app) => app.close())));
    if (!closed || (await withTimeout(this.timeLeftMs, closed))) return;
    this.logger.warn('some apps did not close in time');
    this.appsLogger.level = 'silent';
  }

  /**
   * Routes content and `/readyz` to the files service, because the gateway has no database to check; the rest to the
   * gateway.
   */
  private route(api: PublicListener, gateway: NestFastifyApplication, files: NestFastifyApplication): void {
    const toFiles = files.getHttpAdapter().getInstance();
    const toGateway = gateway.getHttpAdapter().getInstance();
    api.open(
      (request, response) => {
        const isForFiles = request.url === '/readyz' || request.url?.startsWith('/content/');
        if (isForFiles) toFiles.routing(request, response);
        else toGateway.routing(request, response);
      },
      (request, socket, head) => void toGateway.server.emit('upgrade', request, socket, head),
    );
    this.started.push(() => api.close(this.config.shutdownTimeoutMs));
  }
}

/** Platforms on other ports have no tunnel unless TUNNEL_PORT is set: several may run side by side. */
function tunnelSettings(apiUrl: string, port: number): Record<string, string> {
  const tunnelPort = Number(process.env['TUNNEL_PORT'] || (port === usualPort ? tunnelPortBeside(port) : 0));
  if (tunnelPort === 0) return { TUNNEL_PORT: '0', TUNNEL_URL: '' };
  const url = new URL(apiUrl);
  url.port = String(tunnelPort);
  return { TUNNEL_PORT: String(tunnelPort), TUNNEL_URL: process.env['TUNNEL_URL'] || url.origin };
}

/** As far from the port as on the usual ones. */
function tunnelPortBeside(port: number): number {
  const beside = port + usualTunnelPort - usualPort;
  return port === 0 || beside > 65_535 ? usualTunnelPort : beside;
}

/** Waits until all have opened or failed, so that all can be closed. Joins the problems of invalid configurations. */
async function allOpen(opening: Promise<NestFastifyApplication>[]): Promise<NestFastifyApplication[]> {
  const outcomes = await Promise.allSettled(opening);
  const problems = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' && outcome.reason instanceof ConfigError ? outcome.reason.problems : [],
  );
  if (problems.length > 0) throw new ConfigError(problems);
  return Promise.all(opening);
}

/** Mode 700: if root runs Parley, other users may traverse the data folder itself. */
async function privateFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
  return path;
}

/** Keys of the environment, or of the data folder. Former keys of both are used. */
async function openSecretKeys(folder: string): Promise<Record<string, string>> {
  if (process.env['PARLEY_SECRET_KEY']) return {};
  const { secretKey, formerSecretKeys } = await openKeyFile(folder);
  const former = [...formerSecretKeys, process.env['PARLEY_FORMER_SECRET_KEYS'] ?? ''].filter(Boolean);
  return { PARLEY_SECRET_KEY: secretKey, PARLEY_FORMER_SECRET_KEYS: former.join(',') };
}

/** Retries for a moment while the owner of the folder ends. Throws DataFolderInUse if it does not. */
async function claim(path: string): Promise<DataFolder> {
  const deadline = Date.now() + claimPatienceMs;
  for (;;) {
    try {
      return await DataFolder.claim(path);
    } catch (error) {
      if (!(error instanceof DataFolderInUse) || Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

/** Relative path if the folder is below the current one, otherwise absolute. */
function displayed(folder: string): string {
  const path = relative('', folder) || '.';
  return path.startsWith('..') ? resolve(folder) : path;
}
