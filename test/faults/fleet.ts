import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seedVariable } from '@parley/transport/permissions';
import { NatsServer } from '@parley/testing/nats-server';
import { firstWorkspace } from '@parley/testing/running-platform';
import { createPlatformDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { newToken } from '@parley/secrets/token';
import { Balancer } from './balancer';
import { Replica, runToEnd } from './replica';

export const appNames = [
  'admin',
  'hub',
  'files',
  'files-worker',
  'tables',
  'chat',
  'runtime',
  'runner',
  'models',
  'gateway',
] as const;
export type AppName = (typeof appNames)[number];

export interface FleetOptions {
  /** Processes of each app. Several gateways, or files services, get a balancer. */
  replicas?: number;
  /** 0 leaves out an app that the suite does not need. */
  replicasOf?: Partial<Record<AppName, number>>;
  env?: Record<string, string>;
  /** Variables of an app; a list has those of each process. */
  envOf?: Partial<Record<AppName, Record<string, string> | Record<string, string>[]>>;
  /** Command that starts Node for an app, such as `bwrap …`. */
  wrapperOf?: (name: AppName) => string[];
  /** Dedicated Postgres, for suites that break it. */
  databaseUrl?: string;
  /** NATS with the keys and permissions of `deploy/nats`. */
  isSecured?: boolean;
  /** Folder of a built release. Default: this one. */
  release?: string;
}

/** Distributed mode whose processes a test can kill, stop and restart one by one. */
export class Fleet {
  readonly token = newToken('pat');
  readonly secretKey = randomBytes(32).toString('base64url');
  readonly balancers: Balancer[] = [];
  workspaceId = '';
  private readonly apps = new Map<AppName, Replica[]>();
  private readonly fronts = new Map<AppName, string>();
  private readonly undo: (() => Promise<unknown>)[] = [];
  private variables: Record<string, string> = {};

  private constructor(
    private readonly folder: string,
    readonly nats: NatsServer,
    readonly databaseUrl: string,
    private readonly release: string,
  ) {}

  static async start({
    replicas = 1,
    replicasOf = {},
    env = {},
    envOf = {},
    wrapperOf = () => [],
    databaseUrl,
    isSecured = false,
    release = process.cwd(),
  }: FleetOptions = {}): Promise<Fleet> {
    const folder = await mkdtemp(join(tmpdir(), 'parley-fleet-'));
    const database = databaseUrl ? await migrated(databaseUrl, release) : await createPlatformDatabase();
    const nats = await (isSecured ? NatsServer.startSecured() : NatsServer.start());
    const fleet = new Fleet(folder, nats, database.url, release);
    fleet.undo.push(
      () => rm(folder, { recursive: true, force: true }),
      () => database.drop(),
      () => nats.stop(),
    );
    try {
      await fleet.open((name) => replicasOf[name] ?? replicas, env, envOf, wrapperOf);
      return fleet;
    } catch (error) {
      await fleet.stop();
      throw error;
    }
  }

  /** URL of the gateways. */
  get url(): string {
    return this.frontOf('gateway');
  }

  get blobsDir(): string {
    return join(this.folder, 'blobs');
  }

  replicas(name: AppName): Replica[] {
    return this.apps.get(name)!;
  }

  the(name: AppName): Replica {
    return this.replicas(name)[0]!;
  }

  headers(botId: string): Record<string, string> {
    return { authorization: `Bearer ${this.token}`, 'x-workspace-id': this.workspaceId, 'x-bot-id': botId };
  }

  get all(): Replica[] {
    return [...this.apps.values()].flat();
  }

  /** Warnings in the logs of all processes, for failure reports. */
  get warnings(): string[] {
    return this.all.flatMap(({ output }) => output.split('\n').filter((line) => /"level":[4-6]0/.test(line)));
  }

  /** Processes that are not running, with the end of their output. */
  get ended(): string[] {
    return this.all.filter(({ isRunning }) => !isRunning).map(({ name, output }) => `${name}: ${output.slice(-5_000)}`);
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((replica) => replica.end('SIGKILL')));
    for (const step of this.undo.splice(0).reverse()) await step();
  }

  private async open(
    countOf: (name: AppName) => number,
    env: Record<string, string>,
    envOf: NonNullable<FleetOptions['envOf']>,
    wrapperOf: NonNullable<FleetOptions['wrapperOf']>,
  ): Promise<void> {
    await mkdir(this.blobsDir);
    const shared = {
      HOST: '127.0.0.1',
      NATS_URL: this.nats.url,
      DATABASE_URL: this.databaseUrl,
      DATABASE_POOL_SIZE: '5',
      BLOBS_DIR: this.blobsDir,
      PARLEY_SECRET_KEY: this.secretKey,
      PARLEY_BOOTSTRAP_TOKEN: this.token,
      RATE_LIMIT_PER_SECOND: '0',
      ...env,
    };
    for (const name of appNames) {
      const own = [envOf[name] ?? {}].flat();
      const made = await Promise.all(
        Array.from({ length: countOf(name) }, (_, n) =>
          Replica.create(
            name,
            { ...shared, ...this.keyOf(name), ...own[n % own.length] },
            wrapperOf(name),
            this.release,
          ),
        ),
      );
      this.apps.set(name, made);
    }
    this.variables = shared;
    for (const name of ['gateway', 'files'] as const) if (countOf(name) > 1) await this.putBalancerBefore(name);
    for (const replica of this.all) {
      replica.env['PUBLIC_URL'] = this.url;
      replica.env['CONTENT_URL'] = this.frontOf('files');
    }

    await this.makeStreams(this.release);
    await Promise.all(this.all.map((replica) => replica.start()));
    await Promise.all(this.balancers.map((balancer) => balancer.allReady()));
    this.workspaceId = await firstWorkspace(this.url, this.token);
  }

  /** Migrates to another release and makes its streams, before its first process starts. */
  async prepare(release: string): Promise<void> {
    await migrated(this.databaseUrl, release);
    await this.makeStreams(release);
  }

  /** Starts one process of an app that the fleet does not have yet. */
  async add(name: AppName, release: string): Promise<void> {
    const env = { ...this.variables, ...this.keyOf(name), PUBLIC_URL: this.url, CONTENT_URL: this.frontOf('files') };
    const replica = await Replica.create(name, env, [], release);
    this.apps.set(name, [...(this.apps.get(name) ?? []), replica]);
    await replica.start();
  }

  private async makeStreams(release: string): Promise<void> {
    if (!this.nats.isSecured) return;
    await runToEnd('dist/apps/cli/src/streams.js', { ...this.variables, ...this.keyOf('operator') }, release);
  }

  private keyOf(name: string): Record<string, string> {
    const { [seedVariable(name)]: seed, NATS_CA_FILE: caFile } = this.nats.access;
    return { ...(seed ? { NATS_NKEY_SEED: seed } : {}), ...(caFile ? { NATS_CA_FILE: caFile } : {}) };
  }

  private async putBalancerBefore(name: AppName): Promise<void> {
    const balancer = await Balancer.start(this.replicas(name).map(({ url }) => url));
    this.fronts.set(name, balancer.url);
    this.balancers.push(balancer);
    this.undo.push(() => balancer.stop());
  }

  private frontOf(name: AppName): string {
    return this.fronts.get(name) ?? this.the(name).url;
  }
}

async function migrated(url: string, release: string): Promise<EmptyDatabase> {
  await runToEnd('dist/apps/cli/src/migrate.js', { DATABASE_URL: url }, release);
  return { url, drop: () => Promise.resolve() };
}
