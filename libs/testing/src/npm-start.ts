import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port';
import { baseEnvironment, type RunningPlatform } from './running-platform';
import { waitFor } from './wait-for';

const startTimeoutMs = 60_000;

/** Embedded mode by `npm start`, on a data folder and a port that stay the same across restarts. */
export class NpmStart {
  private npm?: ChildProcess;
  private said = '';

  private constructor(
    readonly dataDir: string,
    private readonly env: Record<string, string>,
  ) {}

  static async create(env: Record<string, string>): Promise<NpmStart> {
    const dataDir = await mkdtemp(join(tmpdir(), 'parley-npm-start-'));
    // Postgres may run as another user.
    await chmod(dataDir, 0o755);
    return new NpmStart(dataDir, { ...env, PORT: String(await freePort()), PARLEY_DATA_DIR: dataDir });
  }

  get blobsDir(): string {
    return join(this.dataDir, 'blobs');
  }

  async start(): Promise<void> {
    this.said = '';
    const npm = spawn('npm', ['start'], {
      env: { ...baseEnvironment(), ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Own process group, so that `kill` reaches all its processes.
      detached: true,
    });
    npm.stdout.on('data', (data: Buffer) => (this.said += data.toString()));
    npm.stderr.on('data', (data: Buffer) => (this.said += data.toString()));
    this.npm = npm;
    await waitFor(() => this.hasEnded || this.said.includes('Parley is ready'), Boolean, startTimeoutMs);
    if (this.hasEnded) throw new Error(`npm start ended:\n${this.said}`);
  }

  async credentials(): Promise<Pick<RunningPlatform, 'url' | 'token' | 'workspaceId'>> {
    return JSON.parse(await readFile(join(this.dataDir, 'credentials.json'), 'utf8')) as RunningPlatform;
  }

  /** Link that signs the account of the first start in to the console, once. */
  get consoleLink(): string {
    return /Console +(\S+)/.exec(this.said)![1]!;
  }

  async databaseUrl(): Promise<string> {
    const password = await readFile(join(this.dataDir, 'postgres.password'), 'utf8');
    const port = (await this.pidFile())[3];
    return `postgres://parley:${password}@127.0.0.1:${port}/postgres`;
  }

  /** SIGKILL for node alone, or for npm, node and Postgres at the same moment. */
  async kill(what: 'node' | 'everything'): Promise<void> {
    const [node, postgres] = [await this.nodePid(), Number((await this.pidFile())[0])];
    const ended = once(this.npm!, 'exit');
    if (what === 'node') process.kill(node, 'SIGKILL');
    else for (const group of [this.npm!.pid!, postgres]) process.kill(-group, 'SIGKILL');
    await ended;
  }

  /** Stops by SIGTERM what still runs, then removes the data. */
  async remove(): Promise<void> {
    if (!this.hasEnded) {
      const ended = once(this.npm!, 'exit');
      process.kill(await this.nodePid(), 'SIGTERM');
      await ended;
    }
    await rm(this.dataDir, { recursive: true, force: true });
  }

  private get hasEnded(): boolean {
    return !this.npm || this.npm.exitCode !== null || this.npm.signalCode !== null;
  }

  private async nodePid(): Promise<number> {
    const lock = join(this.dataDir, 'parley.lock');
    const [name] = await readdir(lock);
    return (JSON.parse(await readFile(join(lock, name!), 'utf8')) as { pid: number }).pid;
  }

  /** Lines of `postmaster.pid`: process id, data folder, start time, port and more. */
  private async pidFile(): Promise<string[]> {
    return (await readFile(join(this.dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  }
}
