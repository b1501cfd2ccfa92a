import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NatsServer } from '@parley/testing/nats-server';
import { firstWorkspace } from '@parley/testing/running-platform';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { newToken } from '@parley/secrets/token';
import { Balancer } from './balancer';
import { Replica, runToEnd } from './replica';

export const appNames = ['admin', 'hub', 'files', 'files-worker', 'tables', 'chat', 'gateway'] as const;
export type AppName = (typeof appNames)[number];

export interface FleetOptions {
  /** Processes of each app. With more than one, a balancer stands before the gateways and one before the files service. */
  replicas?: number;
  /** Added to the environment of every app. */
  env?: Record<string, string>;
  /** A Postgres of the suite's own, for one that breaks it. */
  databaseUrl?: string;
}

/** The distributed mode with every process in the test's hands: to be killed, stopped and started again, one by one. */
export class Fleet {
  readonly token = newToken('pat');
  readonly secretKey = randomBytes(32).toString('base64url');
  readonly balancers: Balancer[] = [];
  workspaceId = '';
  private readonly apps = new Map<AppName, Replica[]>();
  private readonly undo: (() => Promise<unknown>)[] = [];

  private constructor(
    private readonly folder: string,
    readonly nats: NatsServer,
    readonly databaseUrl: string,
  ) {}

  static async start({ replicas = 1, env = {}, databaseUrl }: FleetOptions = {}): Promise<Fleet> {
    const folder = await mkdtemp(join(tmpdir(), 'parley-fleet-'));
    const database = databaseUrl ? { url: databaseUrl, drop: () => Promise.resolve() } : await createEmptyDatabase();
    const nats = await NatsServer.start();
    const fleet = new Fleet(folder, nats, database.url);
    fleet.undo.push(
      () => rm(folder, { recursive: true, force: true }),
      () => database.drop(),
      () => nats.stop(),
    );
    try {
      await fleet.open(replicas, env);
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

  async stop(): Promise<void> {
    await Promise.all(this.all.map((replica) => replica.end('SIGKILL')));
    for (const step of this.undo.splice(0).reverse()) await step();
  }

  private async open(replicas: number, env: Record<string, string>): Promise<void> {
    await mkdir(this.blobsDir);
    const shared = {
      HOST: '127.0.0.1',
      NATS_URL: this.nats.url,
      DATABASE_URL: this.databaseUrl,
      DATABASE_POOL_SIZE: '5',
      BLOBS_DIR: this.blobsDir,
      PARLEY_SECRET_KEY: this.secretKey,
      PARLEY_BOOTSTRAP_TOKEN: this.token,
      ...env,
    };
    for (const name of appNames) {
      const made = await Promise.all(Array.from({ length: replicas }, () => Replica.create(name, shared)));
      this.apps.set(name, made);
    }
    if (replicas > 1) await this.putBalancersBefore('gateway', 'files');
    for (const replica of this.all) {
      replica.env['PUBLIC_URL'] = this.url;
      replica.env['CONTENT_URL'] = this.frontOf('files');
    }

    await runToEnd('dist/apps/cli/src/migrate.js', shared);
    await Promise.all(this.all.map((replica) => replica.start()));
    await Promise.all(this.balancers.map((balancer) => balancer.allReady()));
    this.workspaceId = await firstWorkspace(this.url, this.token);
  }

  private async putBalancersBefore(...names: AppName[]): Promise<void> {
    for (const name of names) {
      const balancer = await Balancer.start(this.replicas(name).map(({ url }) => url));
      this.balancers.push(balancer);
      this.undo.push(() => balancer.stop());
    }
  }

  private frontOf(name: 'gateway' | 'files'): string {
    return this.balancers[name === 'gateway' ? 0 : 1]?.url ?? this.the(name).url;
  }
}
