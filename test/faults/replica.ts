import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@parley/testing/free-port';
import { baseEnvironment } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';

const startTimeoutMs = 120_000;
/** A large young generation from the beginning saves a sixth of the processor time of a start. */
const startFlag = '--min-semi-space-size=16';

/** Process of an app; keeps its port over restarts. */
export class Replica {
  private child?: ChildProcess;
  private said = '';

  private constructor(
    readonly name: string,
    readonly port: number,
    readonly env: Record<string, string>,
    private readonly wrapper: string[],
    /** Folder of the release that its next process runs, as `npm run build` leaves it. */
    public release: string,
  ) {}

  /** @param wrapper command that starts Node, such as `bwrap …` */
  static async create(
    name: string,
    env: Record<string, string>,
    wrapper: string[] = [],
    release = process.cwd(),
  ): Promise<Replica> {
    const port = await freePort();
    return new Replica(name, port, { ...env, PORT: String(port) }, wrapper, release);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.child!.pid!;
  }

  get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Exit code of its last process; null while it runs, and after a signal. */
  get exitCode(): number | null {
    return this.child?.exitCode ?? null;
  }

  /** Output of all its processes, including those before a restart. */
  get output(): string {
    return this.said;
  }

  async start(): Promise<void> {
    await this.launch();
    await this.ready();
  }

  launch(): Promise<unknown> {
    const [program, ...args] = [...this.wrapper, process.execPath, startFlag, `dist/apps/${this.name}/src/main.js`];
    const child = spawn(program, args, {
      cwd: this.release,
      env: { ...baseEnvironment(), ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.on('data', (data: Buffer) => (this.said += data.toString()));
    child.stderr.on('data', (data: Buffer) => (this.said += data.toString()));
    this.child = child;
    return once(child, 'spawn');
  }

  async ready(): Promise<void> {
    const deadline = Date.now() + startTimeoutMs;
    while (!(await this.isReady())) {
      if (!this.isRunning || Date.now() > deadline) throw new Error(`${this.name} did not start:\n${this.said}`);
      await sleep(50);
    }
  }

  async isReady(): Promise<boolean> {
    const response = await fetch(`${this.url}/readyz`).catch(() => undefined);
    await response?.arrayBuffer();
    return response?.ok ?? false;
  }

  /** Resolves when it accepts no connections: a stopping process only finishes its requests. */
  async stopsListening(): Promise<void> {
    await waitFor(
      () => this.listens(),
      (listens) => !listens,
    );
  }

  /** True when one of its processes has logged this request id. */
  hasSeen(requestId: string): boolean {
    return this.said.includes(JSON.stringify(requestId));
  }

  async ended(): Promise<void> {
    if (this.isRunning) await once(this.child!, 'exit');
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** Sends the signal and waits for the end of the process. Returns the milliseconds. */
  async end(signal: NodeJS.Signals): Promise<number> {
    if (!this.isRunning) return 0;
    const started = performance.now();
    const [ended, silent] = [once(this.child!, 'exit'), once(this.child!, 'close')];
    this.signal(signal);
    await ended;
    const ms = performance.now() - started;
    // The last output may still be in the pipe.
    await silent;
    return ms;
  }

  private listens(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1');
      socket.once('error', () => resolve(false));
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
    });
  }
}

/** Runs one of our programs. Throws with its output when it fails. */
export async function runToEnd(script: string, env: Record<string, string>, release = process.cwd()): Promise<void> {
  const child = spawn(process.execPath, [script], {
    cwd: release,
    env: { ...baseEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${script} failed:\n${output}`);
}
