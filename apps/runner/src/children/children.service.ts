import { randomBytes, randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { CodeSecrets } from '@parley/contracts/runner/code';
import type { CodeOwner, InvokeCode, Lane, LoadCode } from '@parley/contracts/runner/runner';
import { webhookBaseOf } from '@parley/service/config';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { CodeService } from '../code/code.service';
import { RunnerConfig } from '../config';
import type { AllowedOrigin } from '../host/frames';
import { BundleOutput } from '../logs/bundle-output';
import { LogSenderService } from '../logs/log-sender.service';
import { BotChild, CodeFailed, CodePaused } from './bot-child';
import type { Isolation } from './isolation';
import { IsolationService } from './isolation.service';
import { folderMb } from './temporary-folder';

const openFiles = 2_048;
/**
 * Starts in a row after which a process ended before it had answered a call. An event whose code crashes has four attempts:
 * alone, it causes no pause before the last one.
 */
const startsWithoutPause = 4;
/** An end by a memory limit counts as so many: until then, a process costs others most. */
const startsOfMemoryEnd = 2;
const firstPauseMs = 10_000;
const maxPauseMs = 30_000;
/** Failed starts that are further apart are not in a row. */
const failedStartsMs = 90_000;
/** Code whose process ended by itself, or had to be ended, so often within `endsMs` starts with the lowest priority. */
const maxEnds = 2;
const endsMs = 60_000;
const maxBundlesKept = 10_000;

/** Code with its secrets: one process serves it. */
type Bundle = Pick<InvokeCode, 'owner' | 'ownerId' | 'codeRevision' | 'ticket' | 'lane'>;

interface Program extends CodeSecrets {
  code: string;
}

interface Entry {
  /** Bot or version of an integration. Absent for code that is not deployed. */
  ownerId?: string;
  /** Order of starting. */
  number: number;
  place: number;
  /** Calls that use the process or wait for it to load. */
  users: number;
  usersOfLane: Record<Lane, number>;
  hasAnswered: boolean;
  output: BundleOutput;
  starting: Promise<BotChild>;
  child?: BotChild;
  idleTimer?: NodeJS.Timeout;
}

interface FailedStarts {
  count: number;
  /** Their number, where those count more that cost others more. */
  weight: number;
  pauseEndsAt: number;
  /** Why the last process ended. */
  reason: string;
}

/** Processes of bundles: started on demand, kept warm, and ended when they are idle or when others need their place. */
@Injectable()
export class ChildrenService implements OnApplicationShutdown {
  private readonly logger = new Logger(ChildrenService.name);
  private readonly entries = new Map<string, Entry>();
  private started = 0;
  private readonly ending = new Set<Promise<unknown>>();
  /** By bundle: newer code starts at once. */
  private readonly failedStarts = new LRUCache<string, FailedStarts>({
    ...atMostEntries(maxBundlesKept),
    ttl: failedStartsMs,
  });
  /** Unexpected ends of processes by bundle. */
  private readonly ends = new LRUCache<string, number>({ ...atMostEntries(maxBundlesKept), ttl: endsMs });
  private readonly allowedOrigins?: AllowedOrigin[];
  private readonly countStart: (kind: string) => void;

  constructor(
    private readonly code: CodeService,
    private readonly logs: LogSenderService,
    private readonly config: RunnerConfig,
    private readonly isolation: IsolationService,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    const { publicUrl, contentUrl, allowPrivate } = config;
    if (allowPrivate === 'false') this.allowedOrigins = [publicUrl, contentUrl].map(originOf);
    this.countStart = metrics.counters(
      'parley_runner_starts_total',
      'Calls of code by how their process was found: `cold` (started for the call) or `warm`.',
      'kind',
    );
    metrics.gauge('parley_runner_processes', 'Processes that run the code of bots.', () =>
      Promise.resolve(this.entries.size),
    );
    metrics.gauge('parley_runner_resident_bytes', 'Resident memory of the processes that run the code of bots.', () =>
      this.residentBytes(),
    );
  }

  /** Places that another bundle could have: free ones, and those of idle processes. */
  get freePlaces(): number {
    return this.config.processes - [...this.entries.values()].filter(({ users }) => users > 0).length;
  }

  /**
   * Runs `call` with the process of the bundle.
   * @throws CodeFailed `busy` without a free place; `not loadable`; CodePaused
   */
  async use<T>(bundle: Bundle, call: (child: BotChild, output: BundleOutput) => Promise<T>): Promise<T> {
    const key = `${bundle.ownerId}/${bundle.codeRevision}`;
    const entry = this.usable(key) ?? this.startDeployed(key, bundle);
    const { lane = 'events' } = bundle;
    if (entry.usersOfLane[lane] >= this.config.concurrency)
      throw new CodeFailed('busy', 'The process of the bot handles enough calls.');
    clearTimeout(entry.idleTimer);
    this.countStart(entry.child ? 'warm' : 'cold');
    entry.users += 1;
    entry.usersOfLane[lane] += 1;
    try {
      const answer = await call(await entry.starting, entry.output);
      entry.hasAnswered = true;
      this.failedStarts.delete(key);
      return answer;
    } finally {
      entry.users -= 1;
      entry.usersOfLane[lane] -= 1;
      this.rest(key, entry);
    }
  }

  /**
   * Loads code that is not deployed, in a process that ends then. Its API key is valid nowhere.
   * @throws CodeFailed as `use`
   */
  async tryLoad({ owner, ownerId, code, secrets }: LoadCode): Promise<void> {
    const key = randomUUID();
    const output = ownerId === undefined ? discardedOutput() : this.logs.outputOf({ owner, ownerId });
    const program = { code, secrets, token: randomBytes(16).toString('hex') };
    const entry = this.start(key, { owner }, output, () => Promise.resolve(program));
    entry.users = 1;
    try {
      await entry.starting;
    } finally {
      this.end(key, entry);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    for (const entry of this.entries.values()) entry.child?.kill();
    await Promise.all([...this.entries.values()].map(({ starting }) => starting.then(ended, () => undefined)));
    await Promise.all(this.ending);
  }

  private async residentBytes(): Promise<number> {
    const sizes = await Promise.all(
      [...this.entries.values()].map(({ child }) => child?.residentBytes() ?? Promise.resolve(0)),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  private usable(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (!entry?.child) return entry;
    if (entry.child.isAlive && !entry.child.isTainted) return entry;
    this.noteEnd(key, entry);
    this.entries.delete(key);
    return undefined;
  }

  private startDeployed(key: string, bundle: Bundle): Entry {
    this.refusePaused(key);
    const entry = this.start(key, bundle, this.logs.outputOf(bundle), () => this.fetchProgram(bundle));
    entry.starting.catch((error: unknown) => {
      if (error instanceof CodeFailed && error.failure !== 'busy') this.noteFailedStart(key, entry, error);
    });
    return entry;
  }

  /** Throws CodeFailed without a free place. */
  private start(
    key: string,
    { owner, ownerId }: Pick<Bundle, 'owner'> & Partial<Bundle>,
    output: BundleOutput,
    getProgram: () => Promise<Program>,
  ): Entry {
    if (this.entries.size >= this.config.processes) this.makeRoom();
    const places = new Set([...this.entries.values()].map(({ place }) => place));
    let place = 0;
    while (places.has(place)) place += 1;
    const entry: Entry = {
      ownerId,
      number: (this.started += 1),
      place,
      users: 0,
      usersOfLane: { events: 0, actions: 0, webhooks: 0 },
      hasAnswered: false,
      output,
      starting: getProgram().then((started) => this.startChild(key, owner, started, place, output)),
    };
    this.entries.set(key, entry);
    entry.starting.then(
      (child) => {
        entry.child = child;
        void child.ended.then(() => {
          this.noteEnd(key, entry);
          this.forget(key, entry);
        });
      },
      () => this.forget(key, entry),
    );
    return entry;
  }

  private async fetchProgram(bundle: Bundle): Promise<Program> {
    try {
      const [code, secrets] = await Promise.all([this.code.getCode(bundle), this.code.getSecrets(bundle)]);
      return { code, ...secrets };
    } catch (error) {
      if (error instanceof ApiError && error.type === 'ResourceNotFound')
        throw new CodeFailed('busy', `Other code of the ${bundle.owner} ${bundle.ownerId} was deployed meanwhile.`);
      throw error;
    }
  }

  private async startChild(
    key: string,
    owner: CodeOwner,
    { code, token, secrets }: Program,
    place: number,
    output: BundleOutput,
  ): Promise<BotChild> {
    const { memoryMb, publicUrl } = this.config;
    const isolation = await this.isolate(place);
    const child = new BotChild(
      {
        ...{ ...isolation.limits, heapMb: memoryMb, residentMb: 2 * memoryMb, openFiles, fileMb: folderMb },
        isLast: (this.ends.get(key) ?? 0) >= maxEnds,
        env: { ...isolation.env, TZ: 'UTC', NODE_ENV: 'production', AWS_LAMBDA_FUNCTION_NAME: 'parley' },
      },
      (printed) => output.take(printed),
    );
    child.watchFolder(isolation.folder);
    void child.ended.then(() => output.end(undefined));
    const ending = child.ended
      .then(() => isolation.folder.remove())
      .catch((error: unknown) => this.logger.warn((error as Error).message))
      .finally(() => this.ending.delete(ending));
    this.ending.add(ending);
    const secretEnv = Object.entries(secrets).map(([name, value]) => [`SECRET_${name}`, value] as const);
    const env = {
      ...Object.fromEntries(secretEnv),
      ...{ BP_API_URL: publicUrl, BP_TOKEN: token, BP_LOG_FORMAT: 'json' },
      ...(owner === 'integration' && { BP_WEBHOOK_URL: webhookBaseOf(this.config) }),
    };
    try {
      await child.load({ code, env, allowedOrigins: this.allowedOrigins });
      return child;
    } catch (error) {
      child.kill();
      throw error;
    }
  }

  /** Throws CodeFailed: another runner may have room. */
  private async isolate(place: number): Promise<Isolation> {
    try {
      return await this.isolation.isolate(place);
    } catch (error) {
      const reason = `The runner has no temporary folder: ${(error as Error).message}`;
      this.logger.error(reason);
      throw new CodeFailed('busy', reason);
    }
  }

  /** Ends the process that was idle for longest. Throws CodeFailed when all are in use. */
  private makeRoom(): void {
    const idle = [...this.entries].filter(([, { users, child }]) => users === 0 && child);
    const [oldest] = idle.sort(([, a], [, b]) => a.child!.lastUsedAt - b.child!.lastUsedAt);
    if (!oldest) throw new CodeFailed('busy', 'All processes of the runner are in use.');
    this.end(...oldest);
  }

  /** A process without calls ends after a while, and at once when newer code of the bot runs. */
  private rest(key: string, entry: Entry): void {
    if (entry.users > 0 || !entry.child) return;
    const isReplaced = [...this.entries.values()].some(
      (other) => other.ownerId === entry.ownerId && other.number > entry.number,
    );
    if (isReplaced) return this.end(key, entry);
    clearTimeout(entry.idleTimer);
    entry.idleTimer = setTimeout(() => this.end(key, entry), this.config.idleMs).unref();
  }

  private end(key: string, entry: Entry): void {
    entry.child?.kill();
    this.forget(key, entry);
  }

  /** An end that this service did not want: it has forgotten the others before. */
  private noteEnd(key: string, entry: Entry): void {
    if (this.entries.get(key) !== entry) return;
    this.ends.set(key, (this.ends.get(key) ?? 0) + 1);
    if (!entry.hasAnswered) this.noteFailedStart(key, entry, entry.child!.endReason);
  }

  private forget(key: string, entry: Entry): void {
    clearTimeout(entry.idleTimer);
    if (this.entries.get(key) === entry) this.entries.delete(key);
  }

  /** The pause doubles with each process that ends before it has answered a call. */
  private noteFailedStart(key: string, { ownerId, output }: Entry, { failure, message: reason }: CodeFailed): void {
    const former = this.failedStarts.get(key);
    const count = (former?.count ?? 0) + 1;
    const weight = (former?.weight ?? 0) + (failure === 'out of memory' ? startsOfMemoryEnd : 1);
    const doublings = weight - startsWithoutPause;
    const pauseMs = doublings < 0 ? 0 : Math.min(maxPauseMs, firstPauseMs * 2 ** doublings);
    this.failedStarts.set(key, { count, weight, pauseEndsAt: performance.now() + pauseMs, reason });
    if (pauseMs === 0) return;
    const text = `${count} processes in a row ended before they had answered a call: the next one starts after ${pauseMs / 1_000} s.`;
    output.take({ stream: 'stderr', text: `${text}\n` });
    this.logger.warn(`Code of ${ownerId}: ${text}`);
  }

  private refusePaused(key: string): void {
    const failed = this.failedStarts.get(key);
    if (!failed) return;
    const { count, pauseEndsAt, reason } = failed;
    const leftMs = Math.ceil(pauseEndsAt - performance.now());
    if (leftMs > 0)
      throw new CodePaused(
        `The code pauses, since ${count} of its processes in a row ended before they had answered a call: ${reason}`,
        leftMs,
      );
  }
}

/** Logs belong to a bot or an integration: there is none yet. */
function discardedOutput(): BundleOutput {
  return new BundleOutput(
    () => undefined,
    () => undefined,
  );
}

function ended(child: BotChild): Promise<unknown> {
  child.kill();
  return child.ended;
}

function originOf(address: string): AllowedOrigin {
  const { hostname, port, protocol } = new URL(address);
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort };
}
