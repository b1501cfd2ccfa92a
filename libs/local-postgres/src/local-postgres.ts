import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCluster, superuser } from './cluster';
import { stopOrphan } from './orphan';
import { findPrograms } from './postgres-programs';
import { findRunner } from './runner';
import { findFreePort, sendSignal, ServerFailed, startServer, stopServer } from './server';
import type { Server, ServerOptions, Settings } from './server';

export interface LocalPostgresOptions {
  /** Existing folder, claimed by this process: contains the data files, the password and the log. */
  folder: string;
  /** Default: a free port. */
  port?: number;
  /** Postgres settings by name; they override the defaults, which are durable. */
  settings?: Settings;
  /** Called when the server died unexpectedly, and when it is back. */
  log?: (message: string) => void;
  /** Folder with bin, lib and share of Postgres; default: that of the npm package. */
  programs?: string;
  /** Aborts the start; no process is left running. */
  signal?: AbortSignal;
}

/** Starts Postgres on the data in the folder, creating it if necessary. Stops a server left by a killed process. */
export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  const folder = await realpath(options.folder);
  const runner = await findRunner(folder);
  const programs = await findPrograms(folder, runner, options.programs);
  const { settings = {}, log = () => undefined, signal = new AbortController().signal } = options;
  const { data, password } = await openCluster(folder, programs, runner, signal);
  const common = { program: programs.postgres, data, settings, logFile: join(folder, 'postgres.log'), runner };
  for (let triesLeft = 5; ; triesLeft -= 1) {
    const port = options.port ?? (await findFreePort());
    try {
      const server = await startWhenFree({ ...common, port }, signal);
      return new LocalPostgres({ ...common, port }, password, server, log);
    } catch (error) {
      const isBadLuck = error instanceof ServerFailed && error.isPortTaken && options.port === undefined;
      if (!isBadLuck || triesLeft === 0) throw error;
    }
  }
}

/** Embedded Postgres server on the loopback address. Restarts on the same port whenever it dies. */
export class LocalPostgres {
  readonly url: string;
  private readonly stopping = new AbortController();
  private readonly supervision: Promise<void>;
  private stopped: Promise<void> | undefined;

  constructor(
    private readonly options: ServerOptions,
    password: string,
    private server: Server | null,
    private readonly log: (message: string) => void,
  ) {
    this.url = `postgres://${superuser}:${password}@127.0.0.1:${options.port}/postgres`;
    this.supervision = this.supervise();
    process.on('exit', this.onExit);
  }

  /** Process id of the server; null during a restart. */
  get pid(): number | null {
    return this.server?.pid ?? null;
  }

  /** Stops the server and waits for it, at most half a minute. Idempotent. */
  stop(): Promise<void> {
    this.stopped ??= this.end();
    return this.stopped;
  }

  private async end(): Promise<void> {
    process.off('exit', this.onExit);
    this.stopping.abort();
    if (this.server) await stopServer(this.server.pid, this.server.exited);
    else await this.supervision;
  }

  /** Stops the server when this process ends without `stop`, through an uncaught error. */
  private readonly onExit = () => {
    if (this.server) sendSignal(this.server.pid, 'SIGINT');
  };

  private async supervise(): Promise<void> {
    let delayMs = shortestDelayMs;
    while (this.server) {
      const startedAt = Date.now();
      await this.server.exited;
      this.server = null;
      if (this.stopping.signal.aborted) return;

      this.log('Postgres ended unexpectedly, restarting it.');
      if (Date.now() - startedAt > longestDelayMs) delayMs = shortestDelayMs;
      while (!this.server) {
        await sleep(delayMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
        if (this.stopping.signal.aborted) return;
        delayMs = Math.min(2 * delayMs, longestDelayMs);
        this.server = await this.tryStart();
      }
      this.log('Postgres is running again.');
      if (this.stopping.signal.aborted) await stopServer(this.server.pid, this.server.exited);
    }
  }

  private async tryStart(): Promise<Server | null> {
    try {
      await stopOrphan(this.options.data);
      return await startServer(this.options, this.stopping.signal);
    } catch (error) {
      if (!this.stopping.signal.aborted) this.log((error as Error).message);
      return null;
    }
  }
}

const shortestDelayMs = 100;
const longestDelayMs = 5_000;

/** Retries until a killed server, or one that was starting, has ended. */
async function startWhenFree(options: ServerOptions, signal: AbortSignal): Promise<Server> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      await stopOrphan(options.data);
      return await startServer(options, signal);
    } catch (error) {
      if (!(error instanceof ServerFailed && error.isPredecessorEnding) || Date.now() > deadline) throw error;
      await sleep(100, undefined, { signal });
    }
  }
}
