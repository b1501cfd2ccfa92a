import { randomBytes, randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { getCACertificates } from 'node:tls';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { CodeOwner, InvokeCode, Lane, LoadCode, RunnerFailure } from '@parley/contracts/runner/runner';
import { webhookBaseOf } from '@parley/service/config';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { orWhenAborted } from '@parley/background/or-when-aborted';
import { atMostEntries } from '@parley/background/entry-limit';
import { withTimeout } from '@parley/background/with-timeout';
import { orphanedGroups } from '@parley/child-processes/limited-process';
import { LRUCache } from 'lru-cache';
import { CodeService, type Program } from '../code/code.service';
import { RunnerConfig } from '../config';
import type { LoadFrame } from '../host/frames';
import type { BundleOutput } from '../logs/bundle-output';
import { LogSenderService } from '../logs/log-sender.service';
import { BotChild, CodeFailed, CodePaused, LoadHung } from './bot-child';
import type { Isolation } from './isolation';
import { IsolationService } from './isolation.service';
import { allowedOriginsOf, proxyEnvOf } from './proxies';
import { folderMb } from './temporary-folder';

const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
const openFiles = 2_048;
/**
 * Starts in a row after which a process ended before it had answered a call. An event whose code crashes has four attempts:
 * alone, it causes no pause before the last one.
 */
const startsWithoutPause = 4;
/** An end by a memory limit counts as so many: until then, a process costs others most. */
const startsOfMemoryEnd = 2;
/** A load that exceeds its limits holds its place for ten seconds and longer: it causes a pause at once. */
const startsOfHungLoad = 4;
const firstPauseMs = 10_000;
const maxPauseMs = 30_000;
/** Failed starts that are further apart are not in a row. */
const failedStartsMs = 90_000;
/** Code whose process ended by itself, or had to be ended, so often within `endsMs` starts with the lowest priority. */
const maxEnds = 2;
const endsMs = 60_000;
const maxBundlesKept = 10_000;
/** Time for which a place is kept for code and secrets. Those that come later find another one, or none. */
const maxPreparationMs = 10_000;
/** Time in which callers wait for a process to load. It goes on loading for those that come later. */
const maxLoadWaitMs = 12_000;
/** A load that takes longer may hang: on a quiet machine, 14 MB of code take less than a second. */
const slowLoadMs = 3_000;
/** Share of the places for slow loads, beyond which code that hung before, or is not deployed yet, waits. */
const slowLoadShare = 0.25;

type Output = Pick<BundleOutput, 'begin' | 'take' | 'end'>;

/** Logs belong to a bot or an integration: there is none yet. */
const discardedOutput: Output = { begin: () => undefined, take: () => undefined, end: () => undefined };

/** Code with its secrets: one process serves it. */
type Bundle = Pick<InvokeCode, 'owner' | 'ownerId' | 'codeRevision' | 'sealed' | 'lane'>;

interface Entry {
  /** Bot or version of an integration. Absent for code that is not deployed. */
  ownerId?: string;
  /** Order of starting. */
  number: number;
  startedAt: number;
  /** Calls that use the process or wait for it to load. */
  users: number;
  usersOfLane: Record<Lane, number>;
  hasAnswered: boolean;
  output: Output;
  starting: Promise<BotChild>;
  /** Starts the process. Absent once it has code and secrets, which the caller brings that was refused for the lack of them. */
  begin?: (program: Program) => void;
  /** Set when it has loaded. */
  child?: BotChild;
  /** Ends the process or its start: nobody wants it any more. */
  abandoned: AbortController;
  isEndNoted?: boolean;
  idleTimer?: NodeJS.Timeout;
}

/** Failures of a load that the code is not to blame for. */
export const noFaultOfCode: ReadonlySet<RunnerFailure> = new Set(['busy', 'away', 'not started']);

interface Start {
  key: string;
  owner: CodeOwner;
  place: number;
  output: Output;
  abandoned: AbortSignal;
}

interface FailedStarts {
  count: number;
  /** Their number, where those count more that cost others more. */
  weight: number;
  /** Whether it exceeded the limits of its load. */
  hasHung: boolean;
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
  /** Places of processes, also of those that are replaced or that end: in the mode `process`, a place is a user id. */
  private readonly taken = new Set<number>();
  private readonly ending = new Set<Promise<unknown>>();
  /** By bundle: newer code starts at once. */
  private readonly failedStarts = new LRUCache<string, FailedStarts>({
    ...atMostEntries(maxBundlesKept),
    ttl: failedStartsMs,
  });
  /** Unexpected ends of processes by bundle. */
  private readonly ends = new LRUCache<string, number>({ ...atMostEntries(maxBundlesKept), ttl: endsMs });
  private readonly network: Pick<LoadFrame, 'allowedOrigins' | 'certificates' | 'proxyEnv'>;
  private readonly countStart: (kind: string) => void;

  constructor(
    private readonly code: CodeService,
    private readonly logs: LogSenderService,
    private readonly config: RunnerConfig,
    private readonly isolation: IsolationService,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.network = {
      allowedOrigins: config.allowPrivate === 'false' ? allowedOriginsOf(config) : undefined,
      // Those of NODE_EXTRA_CA_CERTS, which this process may read and code may not.
      certificates: getCACertificates('extra'),
      proxyEnv: proxyEnvOf(config),
    };
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
    metrics.gauge(
      'parley_runner_orphans',
      'Ended processes of code that have left a process behind, which could not be killed.',
      () => Promise.resolve(orphanedGroups()),
    );
  }

  /** Places that another bundle could have: free ones, and those of idle processes. */
  get freePlaces(): number {
    return this.config.processes - [...this.entries.values()].filter(({ users, child }) => users > 0 || !child).length;
  }

  /** Whether code that is not deployed may be loaded now: loads that hang must not take all places. */
  get canTryLoad(): boolean {
    return this.freePlaces > 0 && !this.hasTooManySlowLoads;
  }

  /**
   * Runs `call` with the process of the bundle.
   * @throws CodeFailed `busy` without a free place; `not started`; `not loadable`; CodePaused. ApiError `unprepared`: a process
   * has to be started, and the call does not bring what the runner lacks
   */
  async use<T>(bundle: Bundle, call: (child: BotChild, output: Output) => Promise<T>): Promise<T> {
    const { refusal } = this.isolation;
    if (refusal) throw new CodeFailed('away', refusal);
    const key = `${bundle.ownerId}/${bundle.codeRevision}`;
    const entry = this.usable(key) ?? this.startDeployed(key, bundle);
    const { lane = 'events' } = bundle;
    if (entry.usersOfLane[lane] >= this.config.concurrency)
      throw new CodeFailed('busy', 'The process of the bot handles enough calls.');
    entry.begin?.(this.code.programOf(bundle));
    clearTimeout(entry.idleTimer);
    this.countStart(entry.child ? 'warm' : 'cold');
    entry.users += 1;
    entry.usersOfLane[lane] += 1;
    try {
      const answer = await call(await startedInTime(entry), entry.output);
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
    const { refusal, isRefusalFinal } = this.isolation;
    if (refusal) throw new CodeFailed(isRefusalFinal ? 'not loadable' : 'away', refusal);
    const key = randomUUID();
    const output = ownerId === undefined ? discardedOutput : this.logs.outputOf({ owner, ownerId });
    const program = { code, secrets, token: randomBytes(16).toString('hex') };
    this.refuseBesideSlowLoads();
    const entry = this.start(key, { owner }, output, () => Promise.resolve(program));
    entry.users = 1;
    try {
      await startedInTime(entry);
    } finally {
      this.end(key, entry);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    const starts = [...this.entries.values()].map(({ starting }) => starting);
    for (const [key, entry] of this.entries) this.end(key, entry);
    await Promise.allSettled(starts);
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
    // One that has ended is noted when its last words are known.
    if (entry.child.isTainted) this.noteEnd(key, entry);
    this.entries.delete(key);
    return undefined;
  }

  private startDeployed(key: string, bundle: Bundle): Entry {
    this.refusePaused(key);
    if (this.failedStarts.get(key)?.hasHung) this.refuseBesideSlowLoads();
    const { promise: program, resolve } = Promise.withResolvers<Program>();
    const entry = this.start(key, bundle, this.logs.outputOf(bundle), (abandoned) =>
      orWhenAborted(abandoned, program, stopping),
    );
    const timer = setTimeout(() => this.end(key, entry), maxPreparationMs).unref();
    entry.begin = (prepared) => {
      clearTimeout(timer);
      entry.begin = undefined;
      entry.startedAt = performance.now();
      resolve(prepared);
    };
    entry.starting.catch((error: unknown) => {
      if (error instanceof CodeFailed && !noFaultOfCode.has(error.failure)) this.noteFailedStart(key, entry, error);
    });
    return entry;
  }

  /** Throws CodeFailed without a free place. */
  private start(
    key: string,
    { owner, ownerId }: Pick<Bundle, 'owner'> & Partial<Bundle>,
    output: Output,
    getProgram: (abandoned: AbortSignal) => Promise<Program>,
  ): Entry {
    if (this.entries.size >= this.config.processes) this.makeRoom();
    const place = this.takePlace();
    const abandoned = new AbortController();
    const entry: Entry = {
      ownerId,
      number: (this.started += 1),
      startedAt: performance.now(),
      users: 0,
      usersOfLane: { events: 0, actions: 0, webhooks: 0 },
      hasAnswered: false,
      output,
      abandoned,
      starting: this.startChild({ key, owner, place, output, abandoned: abandoned.signal }, getProgram),
    };
    this.entries.set(key, entry);
    entry.starting.then(
      (child) => {
        entry.child = child;
        // Its callers may have given up.
        this.rest(key, entry);
        void child.ended.then(() => {
          this.noteEnd(key, entry);
          this.forget(key, entry);
        });
      },
      () => this.forget(key, entry),
    );
    return entry;
  }

  private takePlace(): number {
    let place = 0;
    while (this.taken.has(place)) place += 1;
    this.taken.add(place);
    return place;
  }

  private async startChild(start: Start, getProgram: (abandoned: AbortSignal) => Promise<Program>): Promise<BotChild> {
    const { place, abandoned } = start;
    let isolation: Isolation;
    let program: Program;
    try {
      program = await getProgram(abandoned);
      if (abandoned.aborted) throw stopping();
      isolation = await this.isolate(place);
    } catch (error) {
      this.taken.delete(place);
      throw error;
    }
    const child = this.open(start, isolation);
    const end = () => child.kill();
    abandoned.addEventListener('abort', end);
    if (abandoned.aborted) end();
    try {
      await child.load({ ...this.loadedBy(start, program), ...this.network });
      return child;
    } catch (error) {
      end();
      if (abandoned.aborted) throw stopping();
      if (error instanceof CodeFailed && error.failure === 'not started')
        this.logger.warn(`A process of code did not start (${start.key}): ${error.message}`);
      throw error;
    }
  }

  /** The process, whose place is free when it has ended and its folder is removed. */
  private open({ key, place, output }: Start, isolation: Isolation): BotChild {
    const { memoryMb } = this.config;
    const child = new BotChild(
      {
        ...{ ...isolation.limits, heapMb: memoryMb, residentMb: 2 * memoryMb, openFiles, fileMb: folderMb },
        niceness: (this.ends.get(key) ?? 0) >= maxEnds ? PRIORITY_LOW : PRIORITY_BELOW_NORMAL,
        env: { ...isolation.env, TZ: 'UTC', NODE_ENV: 'production', AWS_LAMBDA_FUNCTION_NAME: 'parley' },
      },
      (printed) => output.take(printed),
    );
    child.watchFolder(isolation.folder);
    void child.ended.then(() => output.end(undefined));
    const ending = child.ended
      .then(() => isolation.folder.remove())
      .catch((error: unknown) => this.logger.warn((error as Error).message))
      .finally(() => {
        this.taken.delete(place);
        this.ending.delete(ending);
      });
    this.ending.add(ending);
    return child;
  }

  private loadedBy({ owner }: Start, { code, token, secrets }: Program): { code: string; env: Record<string, string> } {
    const { publicUrl } = this.config;
    const secretEnv = Object.entries(secrets).map(([name, value]) => [`SECRET_${name}`, value] as const);
    const env = {
      ...Object.fromEntries(secretEnv),
      ...{ BP_API_URL: publicUrl, BP_TOKEN: token, BP_LOG_FORMAT: 'json' },
      ...(owner === 'integration' && { BP_WEBHOOK_URL: webhookBaseOf(this.config) }),
    };
    return { code, env };
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
    entry.abandoned.abort();
    this.forget(key, entry);
  }

  /** An end that this service did not want. */
  private noteEnd(key: string, entry: Entry): void {
    if (entry.abandoned.signal.aborted || entry.isEndNoted) return;
    entry.isEndNoted = true;
    this.ends.set(key, (this.ends.get(key) ?? 0) + 1);
    if (!entry.hasAnswered) this.noteFailedStart(key, entry, entry.child!.endReason);
  }

  private forget(key: string, entry: Entry): void {
    clearTimeout(entry.idleTimer);
    if (this.entries.get(key) === entry) this.entries.delete(key);
  }

  /** The pause doubles with each process that ends before it has answered a call. */
  private noteFailedStart(key: string, { ownerId, output }: Entry, error: CodeFailed): void {
    const { failure, message: reason } = error;
    const former = this.failedStarts.get(key);
    const count = (former?.count ?? 0) + 1;
    const hasHung = error instanceof LoadHung;
    const weight =
      (former?.weight ?? 0) + (hasHung ? startsOfHungLoad : failure === 'out of memory' ? startsOfMemoryEnd : 1);
    const doublings = weight - startsWithoutPause;
    const pauseMs = doublings < 0 ? 0 : Math.min(maxPauseMs, firstPauseMs * 2 ** doublings);
    this.failedStarts.set(key, { count, weight, hasHung, pauseEndsAt: performance.now() + pauseMs, reason });
    if (pauseMs === 0) return;
    const text = `${count} processes in a row ended before they had answered a call: the next one starts after ${pauseMs / 1_000} s.`;
    output.take({ stream: 'stderr', text: `${text}\n` });
    this.logger.warn(`Code of ${ownerId}: ${text}`);
  }

  private get hasTooManySlowLoads(): boolean {
    const slowSince = performance.now() - slowLoadMs;
    const slow = [...this.entries.values()].filter(
      ({ child, begin, startedAt }) => !child && !begin && startedAt < slowSince,
    ).length;
    return slow >= Math.max(1, Math.floor(this.config.processes * slowLoadShare));
  }

  /** Loads that hang must not take all places. Throws CodeFailed. */
  private refuseBesideSlowLoads(): void {
    if (this.hasTooManySlowLoads) throw new CodeFailed('busy', 'Too much code is being loaded by the runner.');
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

/** Nobody wants the process that was being started: its callers have gone, or the runner stops. */
function stopping(): CodeFailed {
  return new CodeFailed('away', 'The runner is stopping.');
}

/** Throws CodeFailed if the process takes too long to load for its callers. */
async function startedInTime({ starting }: Entry): Promise<BotChild> {
  if (await withTimeout(maxLoadWaitMs, starting)) return starting;
  throw new CodeFailed('not started', `The code has not loaded within ${maxLoadWaitMs / 1_000} s so far.`);
}
