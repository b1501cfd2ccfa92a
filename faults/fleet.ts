import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seedVariable } from '@parley/bus/permissions';
import { NatsServer } from '@parley/testing/nats-server';
import { firstWorkspace } from '@parley/testing/running-platform';
import { createPlatformDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { newToken } from '@parley/secrets/token';
import { Balancer } from './balancer';
import { Replica, runToEnd } from './replica';

export const appNames = ['admin', 'hub', 'files', 'files-worker', 'tables', 'chat', 'gateway'] as const;
export type AppName = (typeof appNames)[number];

export interface FleetOptions {
  /** Processes of each app. A balancer stands before several gateways, and before several of the files service. */
  replicas?: number;
  /** Processes of single apps, if there are to be more or fewer. */
  replicasOf?: Partial<Record<AppName, number>>;
  /** Added to the environment of every app. */
  env?: Record<string, string>;
  /** Added to that of single apps. */
  envOf?: Partial<Record<AppName, Record<string, string>>>;
  /** A Postgres of the suite's own, for one that breaks it. */
  databaseUrl?: string;
  /** With NATS as `deploy/nats` has it: each app has its own key, and may do what it must. */
  isSecured?: boolean;
}

/** The distributed mode with every process in the test's hands: to be killed, stopped and started again, one by one. */
export class Fleet {
  readonly token = newToken('pat');
  readonly secretKey = randomBytes(32).toString('base64url');
  readonly balancers: Balancer[] = [];
  workspaceId = '';
  private readonly apps = new Map<AppName, Replica[]>();
  private readonly fronts = new Map<AppName, string>();
  private readonly undo: (() => Promise<unknown>)[] = [];

  private constructor(
    private readonly folder: string,
    readonly nats: NatsServer,
    readonly databaseUrl: string,
  ) {}

  static async start({
    replicas = 1,
    replicasOf = {},
    env = {},
    envOf = {},
    databaseUrl,
    isSecured = false,
  }: FleetOptions = {}): Promise<Fleet> {
    const folder = await mkdtemp(join(tmpdir(), 'parley-fleet-'));
    const database = databaseUrl ? await migrated(databaseUrl) : await createPlatformDatabase();
    const nats = await (isSecured ? NatsServer.startSecured() : NatsServer.start());
    const fleet = new Fleet(folder, nats, database.url);
    fleet.undo.push(
      () => rm(folder, { recursive: true, force: true }),
      () => database.drop(),
      () => nats.stop(),
    );
    try {
      await fleet.open((name) => replicasOf[name] ?? replicas, env, envOf);
      return fleet;
    } catch (error) {
      await fleet.stop();
      throw error;
    }
  }

  /** Where clients reach the gateways. */
  get url(): string {
    return this.frontOf('gateway');
  }

  get blobsDir(): string {
    return join(this.folder, 'blobs');
  }

  replicas(name: AppName): Replica[] {
    return this.apps.get(name)!;
  }

  /** The first process of the app. */
  the(name: AppName): Replica {
    return this.replicas(name)[0]!;
  }

  /** What a request to a gateway carries. */
  headers(botId: string): Record<string, string> {
    return { authorization: `Bearer ${this.token}`, 'x-workspace-id': this.workspaceId, 'x-bot-id': botId };
  }

  get all(): Replica[] {
    return [...this.apps.values()].flat();
  }

  /** What the processes have complained of, to be shown when something is wrong. */
  get warnings(): string[] {
    return this.all.flatMap(({ output }) => output.split('\n').filter((line) => /"level":[4-6]0/.test(line)));
  }

  /** The processes that do not run, each with its last words. */
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
      const made = await Promise.all(
        Array.from({ length: countOf(name) }, () =>
          Replica.create(name, { ...shared, ...this.keyOf(name), ...envOf[name] }),
        ),
      );
      this.apps.set(name, made);
    }
    for (const name of ['gateway', 'files'] as const) if (countOf(name) > 1) await this.putBalancerBefore(name);
    for (const replica of this.all) {
      replica.env['PUBLIC_URL'] = this.url;
      replica.env['CONTENT_URL'] = this.frontOf('files');
    }

    if (this.nats.isSecured) await runToEnd('dist/apps/cli/src/streams.js', { ...shared, ...this.keyOf('operator') });
    await Promise.all(this.all.map((replica) => replica.start()));
    await Promise.all(this.balancers.map((balancer) => balancer.allReady()));
    this.workspaceId = await firstWorkspace(this.url, this.token);
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

async function migrated(url: string): Promise<EmptyDatabase> {
  await runToEnd('dist/apps/cli/src/migrate.js', { DATABASE_URL: url });
  return { url, drop: () => Promise.resolve() };
}
