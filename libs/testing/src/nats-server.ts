import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cp, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const program = 'nats-server';

/** Whether suites about NATS can run. When they cannot, this says so loudly, or throws where CI must not skip them. */
export function hasNatsServer(): boolean {
  if (spawnSync(program, ['--version']).status === 0) return true;
  const message = `SKIPPED: there is no ${program} on the PATH (Debian: apt-get install nats-server), so the distributed mode is not tested.`;
  if (process.env['PARLEY_REQUIRE_DISTRIBUTED'] === '1') throw new Error(message);
  process.stderr.write(`\n${message}\n`);
  return false;
}

/** A real NATS server with JetStream on the loopback address, with its data in a temporary folder. */
export class NatsServer {
  private process?: ChildProcess;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
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
    const server = new NatsServer(folder, port);
    await server.run();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.process!.pid!;
  }

  /** Starts it again on the same port, after `kill`. */
  async run(): Promise<void> {
    this.process = spawn(program, ['-c', join(this.folder, 'nats.conf')], { stdio: 'ignore' });
    while (!(await accepts(this.port))) {
      if (this.process.exitCode !== null)
        throw new Error(`${program} ended at once with code ${this.process.exitCode}.`);
      await sleep(20);
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { process: running } = this;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    await ended;
  }

  /** Forgets every stream, as a broker does that lost its disk. Only while it is killed. */
  async wipe(): Promise<void> {
    await rm(join(this.folder, 'data'), { recursive: true, force: true });
  }

  /** Keeps a copy of what is on its disk. Only while it is killed. */
  async backUp(): Promise<void> {
    await cp(join(this.folder, 'data'), join(this.folder, 'copy'), { recursive: true });
  }

  /** Puts the copy back, as a machine does that lost power before all was written. Only while it is killed. */
  async rollBack(): Promise<void> {
    await this.wipe();
    await rename(join(this.folder, 'copy'), join(this.folder, 'data'));
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
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
