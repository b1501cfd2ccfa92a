import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AdminModule } from '../../admin/src/admin.module';
import { AdminConfig } from '../../admin/src/config';
import { ChatModule } from '../../chat/src/chat.module';
import { ChatConfig } from '../../chat/src/config';
import { FilesConfig } from '../../files/src/config';
import { FilesModule } from '../../files/src/files.module';
import { FilesWorkerConfig } from '../../files-worker/src/config';
import { FilesWorkerModule } from '../../files-worker/src/files-worker.module';
import { GatewayConfig } from '../../gateway/src/config';
import { GatewayModule } from '../../gateway/src/gateway.module';
import { HubConfig } from '../../hub/src/config';
import { HubModule } from '../../hub/src/hub.module';
import { TablesConfig } from '../../tables/src/config';
import { TablesModule } from '../../tables/src/tables.module';
import { within } from '@parley/background/within';
import { Bus } from '@parley/bus/bus';
import { InProcessHub, InProcessTransport } from '@parley/bus/in-process-transport';
import { readConfig } from '@parley/config/config';
import { Database } from '@parley/database/database';
import { DataFolder, DataFolderInUse } from '@parley/local-postgres/data-folder';
import { type LocalPostgres, startLocalPostgres } from '@parley/local-postgres/local-postgres';
import type { Logger } from '@parley/logging/logger';
import { DeliveriesRepository } from '@parley/outbox/deliveries.repository';
import { Events1700000000110 } from '@parley/outbox/migrations/1700000000110-events';
import { PostgresEvents } from '@parley/outbox/postgres-events';
import { Readiness } from '@parley/service/health.controller';
import { createHttpApp } from '@parley/service/http-app';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import type { StandaloneConfig } from './config';
import { type Credentials, credentialsPath, findOwner, openSecretKey, openToken, saveCredentials } from './credentials';
import { FrontDoor } from './front-door';

/** For the apps to give back what they work on and to close. Then Postgres is stopped all the same. */
const closeMs = 300;
/** A process whose npm was just killed notices and ends within this time. */
const claimPatienceMs = 3_000;

/** The whole platform in one process: a Nest container for each app, on one bus, one Postgres and one HTTP server. */
export class EmbeddedPlatform {
  private readonly started: (() => Promise<void>)[] = [];
  private readonly apps: NestFastifyApplication[] = [];
  private credentials?: Credentials;
  private isTokenNew = false;

  private constructor(
    private readonly config: StandaloneConfig,
    private readonly logger: Logger,
  ) {}

  /** Whatever was started is stopped again when a later step fails. The signal ends the step that can take long. */
  static async start(config: StandaloneConfig, logger: Logger, signal: AbortSignal): Promise<EmbeddedPlatform> {
    const platform = new EmbeddedPlatform(config, logger);
    try {
      await platform.boot(signal);
      return platform;
    } catch (error) {
      await platform.undo();
      throw error;
    }
  }

  /** What the person at the terminal needs; the token only at the very first start. */
  get welcome(): string {
    const { url, workspaceId, token } = this.credentials!;
    const folder = displayed(this.config.dataDir);
    return [
      '',
      '  Parley is ready',
      '',
      `  URL        ${url}`,
      `  Workspace  ${workspaceId}`,
      `  Token      ${this.isTokenNew ? `${token}  (shown this once)` : `in ${credentialsPath(folder)}`}`,
      `  Data       ${folder}`,
      `  API        ${url}/docs`,
      '',
      '  Try        npm run demo -- README.md',
      '',
      '',
    ].join('\n');
  }

  /** Says that it stops, lets what is under way end, and stops everything in the order in which nothing is lost. */
  async stop(): Promise<void> {
    for (const app of this.apps) app.get(Readiness).stop();
    await sleep(this.config.shutdownGraceMs);
    await this.undo();
  }

  private async undo(): Promise<void> {
    for (const step of this.started.splice(0).reverse()) {
      await step().catch((error: unknown) => this.logger.error({ err: error }, 'a part of the platform did not stop'));
    }
  }

  private async boot(signal: AbortSignal): Promise<void> {
    const { dataDir, port, host, maxBodyBytes } = this.config;
    const folder = await claim(dataDir);
    this.started.push(() => folder.release());
    const door = await FrontDoor.listen(port, host);
    this.started.push(() => door.close(0));
    const publicUrl = this.config.publicUrl ?? door.url;
    await folder.announce(publicUrl);

    const { token, isNew } = await openToken(folder.path);
    const blobsDir = process.env['BLOBS_DIR'] ?? join(folder.path, 'blobs');
    const env = {
      ...process.env,
      LOG_LEVEL: this.config.logLevel,
      BLOBS_DIR: blobsDir,
      PUBLIC_URL: publicUrl,
      CONTENT_URL: process.env['CONTENT_URL'] ?? publicUrl,
      FILES_URL: door.url,
      PARLEY_SECRET_KEY: process.env['PARLEY_SECRET_KEY'] ?? (await openSecretKey(folder.path)),
      PARLEY_BOOTSTRAP_TOKEN: process.env['PARLEY_BOOTSTRAP_TOKEN'] ?? token,
      DATABASE_URL: process.env['DATABASE_URL'] ?? (await this.startPostgres(folder.path, signal)).url,
    };
    const events = await this.openEvents(env.DATABASE_URL);
    const hub = new InProcessHub();
    const metrics = new Metrics();
    const platform = (): Platform => ({
      transport: new InProcessTransport(hub, maxBodyBytes, this.logger),
      events,
      logger: this.logger,
      metrics,
      migrateAtStart: true,
      instance: 'embedded',
    });

    this.started.push(() => this.closeApps());
    const [files] = await Promise.all([
      this.open(FilesModule.register(readConfig(FilesConfig, env), platform())),
      this.open(AdminModule.register(readConfig(AdminConfig, env), platform())),
      this.open(FilesWorkerModule.register(readConfig(FilesWorkerConfig, env), platform())),
      this.open(HubModule.register(readConfig(HubConfig, env), platform())),
      this.open(TablesModule.register(readConfig(TablesConfig, env), platform())),
      this.open(ChatModule.register(readConfig(ChatConfig, env), platform())),
    ]);
    const gateway = await this.open(GatewayModule.register(readConfig(GatewayConfig, env), platform()));
    await events.open();
    this.openDoor(door, gateway, files);

    const bus = new Bus(platform().transport);
    const { bootstrapEmail } = readConfig(AdminConfig, env);
    const owner = await findOwner(bus, bootstrapEmail, env.PARLEY_BOOTSTRAP_TOKEN);
    this.credentials = { url: publicUrl, chatUrl: `${publicUrl}/chat`, ...owner };
    this.isTokenNew = isNew || owner.token !== env.PARLEY_BOOTSTRAP_TOKEN;
    await saveCredentials(folder.path, this.credentials);
  }

  private async startPostgres(folder: string, signal: AbortSignal): Promise<LocalPostgres> {
    const postgres = await startLocalPostgres({ folder, signal, log: (message) => this.logger.warn(message) });
    this.started.push(() => postgres.stop());
    return postgres;
  }

  private async openEvents(url: string): Promise<PostgresEvents> {
    const database = await Database.open({ url, schema: 'events', migrations: [Events1700000000110], poolSize: 10 });
    this.started.push(async () => void (await within(closeMs, database.close())));
    await database.migrate();
    return new PostgresEvents(new DeliveriesRepository(database), this.logger);
  }

  private async open(module: DynamicModule): Promise<NestFastifyApplication> {
    const app = await createHttpApp(module, this.logger, this.config);
    this.apps.push(app);
    return app;
  }

  /** The gateway, which asks the others, first. */
  private async closeApps(): Promise<void> {
    const [gateway, ...others] = [...this.apps].reverse();
    const closed = gateway?.close().then(() => Promise.all(others.map((app) => app.close())));
    if (closed && !(await within(closeMs, closed))) this.logger.warn('not every app has closed in time');
  }

  /** Everything is the gateway's but content, and the question whether the database answers, which the gateway has none of. */
  private openDoor(door: FrontDoor, gateway: NestFastifyApplication, files: NestFastifyApplication): void {
    const toFiles = files.getHttpAdapter().getInstance();
    const toGateway = gateway.getHttpAdapter().getInstance();
    door.open((request, response) => {
      const isForFiles = request.url === '/readyz' || request.url?.startsWith('/content/');
      if (isForFiles) toFiles.routing(request, response);
      else toGateway.routing(request, response);
    });
    this.started.push(() => door.close(this.config.shutdownTimeoutMs));
  }
}

/** Waits a moment for an owner that is about to end. Throws DataFolderInUse for one that is not. */
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

/** Relative where it lies below the current folder, as the person typed it or would. */
function displayed(folder: string): string {
  const path = relative('', folder) || '.';
  return path.startsWith('..') ? resolve(folder) : path;
}
