import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newKeys } from '@parley/transport/nats-keys';
import { freePort } from './free-port';

const program = 'nats-server';

/** Whether suites with NATS can run. If not, prints a warning, or throws where CI must not skip them. */
export function hasNatsServer(): boolean {
  if (spawnSync(program, ['--version']).status === 0) return true;
  const message = `SKIPPED: the distributed mode. ${program} is not on the PATH (Debian: apt-get install nats-server).`;
  if (process.env['PARLEY_REQUIRE_DISTRIBUTED'] === '1') throw new Error(message);
  process.stderr.write(`\n${message}\n`);
  return false;
}

interface Setup {
  args: string[];
  env: Record<string, string>;
  seeds?: Record<string, string>;
  caFile?: string;
}

/** NATS server with JetStream on the loopback address. Its data is in a temporary folder. */
export class NatsServer {
  private process?: ChildProcess;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly setup: Setup,
  ) {}

  static async start({ maxPayload = '8MB' } = {}): Promise<NatsServer> {
    const folder = await mkdtemp(join(tmpdir(), 'parley-nats-'));
    const port = await freePort();
    const config = [
      `listen: 127.0.0.1:${port}`,
      `max_payload: ${maxPayload}`,
      'max_pending: 64MB',
      `jetstream { store_dir: "${folder}/data", max_memory_store: 64MB, max_file_store: 2GB }`,
    ];
    await writeFile(join(folder, 'nats.conf'), config.join('\n'));
    const server = new NatsServer(folder, port, { args: ['-c', join(folder, 'nats.conf')], env: {} });
    await server.run();
    return server;
  }

  /**
   * Configured as in `deploy/nats`: TLS, and a key for each user.
   *
   * @param ownUser further user, as `parley nats keys --service` prints it
   */
  static async startSecured(ownUser = ''): Promise<NatsServer> {
    const folder = await mkdtemp(join(tmpdir(), 'parley-nats-'));
    await cp('deploy/nats', folder, { recursive: true });
    const users = await readFile(join(folder, 'users.conf'), 'utf8');
    await writeFile(join(folder, 'users.conf'), users.replace(/\]\s*$/, `${ownUser}\n]\n`));
    const keys = Object.fromEntries(
      [...newKeys().matchAll(/^(NATS_\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
    );
    const caFile = makeCertificate(folder);
    const config = join(folder, caFile ? 'nats-tls.conf' : 'nats.conf');
    const certificate = { NATS_TLS_CERT_FILE: join(folder, 'cert.pem'), NATS_TLS_KEY_FILE: join(folder, 'key.pem') };
    const seeds = Object.fromEntries(Object.entries(keys).filter(([name]) => name.startsWith('NATS_SEED_')));
    return NatsServer.runIn(folder, { args: ['-c', config], env: { ...keys, ...certificate }, seeds, caFile });
  }

  /** Arguments and environment of the caller; only address, ports and store folder are added. */
  static async startWith(args: string[], env: Record<string, string>): Promise<NatsServer> {
    return NatsServer.runIn(await mkdtemp(join(tmpdir(), 'parley-nats-')), { args, env });
  }

  private static async runIn(folder: string, setup: Setup): Promise<NatsServer> {
    const [port, monitoringPort] = [await freePort(), await freePort()];
    const place = ['-a', '127.0.0.1', '-p', String(port), '-m', String(monitoringPort)];
    const server = new NatsServer(folder, port, {
      ...setup,
      args: [...setup.args, ...place],
      env: { ...setup.env, NATS_STORE_DIR: join(folder, 'data') },
    });
    await server.run();
    return server;
  }

  get url(): string {
    return `${this.setup.caFile ? 'tls' : 'nats'}://127.0.0.1:${this.port}`;
  }

  get isSecured(): boolean {
    return this.setup.seeds !== undefined;
  }

  /** Variables for apps that connect to a secured server: its certificate authority, and the seed of each user. */
  get access(): Record<string, string> {
    const { seeds, caFile } = this.setup;
    return { ...seeds, ...(caFile ? { NATS_CA_FILE: caFile } : {}) };
  }

  get pid(): number {
    return this.process!.pid!;
  }

  get isRunning(): boolean {
    return this.process !== undefined && this.process.exitCode === null && this.process.signalCode === null;
  }

  /** Starts the server again on the same port, after `kill`. */
  async run(): Promise<void> {
    this.process = spawn(program, this.setup.args, { stdio: 'ignore', env: { ...process.env, ...this.setup.env } });
    while (!(await accepts(this.port))) {
      if (this.process.exitCode !== null)
        throw new Error(`${program} exited at its start with code ${this.process.exitCode}.`);
      await sleep(20);
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.isRunning) return;
    const running = this.process!;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    await ended;
  }

  /** Deletes every stream, like a lost disk. Only after `kill`. */
  async wipe(): Promise<void> {
    await rm(join(this.folder, 'data'), { recursive: true, force: true });
  }

  /** Deletes the folder of a consumer, which the running server keeps in memory and can no longer store. */
  async damageConsumer(stream: string, name: string): Promise<void> {
    const accounts = join(this.folder, 'data', 'jetstream');
    for (const account of await readdir(accounts)) {
      await rm(join(accounts, account, 'streams', stream, 'obs', name), { recursive: true, force: true });
    }
  }

  /** Copies the data folder. Only after `kill`. */
  async backUp(): Promise<void> {
    await cp(join(this.folder, 'data'), join(this.folder, 'copy'), { recursive: true });
  }

  /** Restores the copy, like a power failure before the last writes. Only after `kill`. */
  async rollBack(): Promise<void> {
    await this.wipe();
    await rename(join(this.folder, 'copy'), join(this.folder, 'data'));
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Creates the self-signed `cert.pem` and `key.pem`. Without openssl, prints a warning and returns undefined. */
export function makeCertificate(folder: string): string | undefined {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'],
    ...[
      '-subj',
      '/CN=nats',
      '-addext',
      'subjectAltName=DNS:localhost,DNS:site.example,IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      certificate,
    ],
  ]);
  if (made.status === 0) return certificate;
  process.stderr.write('\nSKIPPED: TLS. openssl is not on the PATH.\n');
  return undefined;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
