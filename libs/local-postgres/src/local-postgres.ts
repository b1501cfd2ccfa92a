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
  /** An existing folder, claimed by this process: keeps the data files, the password and the log. */
  folder: string;
  /** A free one by default. */
  port?: number;
  /** Postgres's own settings by name, over the defaults, which are durable. */
  settings?: Settings;
  /** Told of what nobody asked for: that the server died, and that it is back. */
  log?: (message: string) => void;
  /** The folder with bin, lib and share of Postgres; that of the npm package by default. */
  programs?: string;
  /** Aborts the start, which leaves nothing running then. */
  signal?: AbortSignal;
}

/**
 * Starts Postgres on the data in the folder, which are made when there are none. A server that a killed process left
 * running on them is stopped first.
 */
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

/** A Postgres server of our own on the loopback address. It is started again, on the same port, whenever it dies. */
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

  /** Of the server that runs now; null while it is being started again. */
  get pid(): number | null {
    return this.server?.pid ?? null;
  }

  /** Ends the server and waits for it, half a minute at most. May be called twice. */
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

  /** When this process ends without `stop`, by an uncaught error, its server ends after it. */
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

      this.log('Postgres has ended although nobody asked it to: starting it again.');
      if (Date.now() - startedAt > longestDelayMs) delayMs = shortestDelayMs;
      while (!this.server) {
        await sleep(delayMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
        if (this.stopping.signal.aborted) return;
        delayMs = Math.min(2 * delayMs, longestDelayMs);
        this.server = await this.tryStart();
      }
      this.log('Postgres is back.');
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

/** Waits for what a killed server, or one whose start was under way, has left running. */
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
