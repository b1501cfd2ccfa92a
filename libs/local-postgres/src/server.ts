import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rename, stat } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CannotOpenData } from './cannot-open-data';
import { readPidFile } from './pid-file';
import { postgresEnvironment } from './postgres-environment';
import { commandOf, findFileOwner, type Runner } from './runner';

export type Settings = Record<string, string | number>;

/**
 * Indexes of millions of rows exceed the default of 128 MB, and each checkpoint makes their pages go to the log once more:
 * with the defaults of Postgres, inserts into a table with a million rows are three times slower than with these. After a
 * crash at most 4 GB of the log are replayed; 2.9 GB took 6 s.
 */
export const memoryAndCheckpoints: Settings = {
  shared_buffers: '256MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
};

export interface ServerOptions {
  program: string;
  data: string;
  port: number;
  settings: Settings;
  logFile: string;
  runner: Runner;
}

export interface Server {
  pid: number;
  exited: Promise<void>;
}

/** Failed start: the server ended before it was ready; `log` is its output. */
export class ServerFailed extends CannotOpenData {
  constructor(readonly log: string) {
    super(`Postgres did not start:\n${log.trim()}`);
  }

  get isPortTaken(): boolean {
    return this.log.includes('Address already in use');
  }

  /** Another server uses the data, or children of a killed one its memory: both end soon. */
  get isPredecessorEnding(): boolean {
    return /pre-existing shared memory block|"postmaster.pid" already exists/.test(this.log);
  }
}

const maxLogBytes = 10 * 1024 * 1024;

/**
 * Runs Postgres in its own process group, so that Ctrl-C in a terminal reaches only this process. Resolves when it
 * accepts connections, after any recovery. An aborted start leaves nothing running.
 */
export async function startServer(options: ServerOptions, signal: AbortSignal): Promise<Server> {
  await rotate(options.logFile);
  const log = await open(options.logFile, 'a+', 0o600);
  try {
    const { size } = await log.stat();
    const owner = findFileOwner(options.runner);
    if (owner) await log.chown(owner.uid, owner.gid);
    const { file, args, user } = commandOf(options.runner, options.program, serverArguments(options));
    const child = spawn(file, args, {
      cwd: options.data,
      env: postgresEnvironment(),
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      ...user,
    });
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    await once(child, 'spawn');
    const pid = child.pid!;
    while (child.exitCode === null && child.signalCode === null) {
      if (signal.aborted) {
        await stopServer(pid, exited);
        break;
      }
      const pidFile = await readPidFile(options.data);
      if (pidFile?.pid === pid && pidFile.isReady) return { pid, exited };
      await sleep(10);
    }
    signal.throwIfAborted();
    const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(8192), position: size });
    throw new ServerFailed(buffer.toString('utf8', 0, bytesRead));
  } finally {
    await log.close();
  }
}

/** Stops a server, escalating: fast shutdown (ends sessions), immediate shutdown, SIGKILL. */
export async function stopServer(pid: number, exited: Promise<void>): Promise<void> {
  const steps = [
    { signal: 'SIGINT', patienceMs: 10_000 },
    { signal: 'SIGQUIT', patienceMs: 6_000 },
    { signal: 'SIGKILL', patienceMs: 5_000 },
  ] as const;
  let isOver = false;
  const over = exited.then(() => (isOver = true));
  for (const { signal, patienceMs } of steps) {
    if (!sendSignal(pid, signal)) return;
    await Promise.race([over, sleep(patienceMs, undefined, { ref: false })]);
    if (isOver) return;
  }
}

export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Free port of the loopback address. Another process may take it before we do. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function serverArguments({ data, port, settings }: ServerOptions): string[] {
  const all: Settings = {
    listen_addresses: '127.0.0.1',
    port,
    // Socket paths are limited to some 100 characters; data folder paths may be longer.
    unix_socket_directories: '',
    // The log is for the server itself: errors of statements reach their client.
    log_min_messages: 'log',
    ...memoryAndCheckpoints,
    ...settings,
  };
  return ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

async function rotate(logFile: string): Promise<void> {
  const { size } = await stat(logFile).catch(() => ({ size: 0 }));
  if (size > maxLogBytes) await rename(logFile, `${logFile}.1`);
}
