import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { workerFile } from '@parley/background/worker-file';
import { findProgram } from '@parley/child-processes/find-program';
import { hasOwnGroups } from '@parley/child-processes/limited-process';
import { ConfigError } from '@parley/config/config';
import { isLocalOnly } from '@parley/config/loopback';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { RunnerConfig } from '../config';
import { BotChild } from './bot-child';
import { hasOwnUserIds, type Isolation, isolate, type IsolationMode } from './isolation';

const program = workerFile(`${__dirname}/../host`, 'host.child');
const maxReasonLength = 300;
const probeAgainMs = 10_000;

/**
 * `impaired`: whether bubblewrap works is not known yet, since the machine was too busy to try it; no code runs meanwhile.
 * `none`: code is refused, since nothing would keep it from the data and keys of the platform.
 */
type State = IsolationMode | 'impaired' | 'none';

/** Decides at the start how the processes of code are isolated. */
@Injectable()
export class IsolationService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(IsolationService.name);
  private state: State = 'impaired';
  private reason = '';
  private timer?: NodeJS.Timeout;

  constructor(
    private readonly config: RunnerConfig,
    @Inject(platformToken) private readonly platform: Pick<Platform, 'isOnlyProcess' | 'metrics'>,
  ) {
    platform.metrics.gauge(
      'parley_runner_isolation_impaired',
      '1 while it is not known whether bubblewrap works, because the machine is too busy to try it. No code runs meanwhile.',
      () => Promise.resolve(this.state === 'impaired' ? 1 : 0),
    );
  }

  /** Throws ConfigError if bubblewrap is required and does not work. */
  async onModuleInit(): Promise<void> {
    await this.decide();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** The mode, with the reason and the risk unless it is `bwrap`. */
  get description(): string {
    return this.reason ? `${this.state}: ${this.reason}` : this.state;
  }

  /** Why no code runs here; undefined if it does. */
  get refusal(): string | undefined {
    return this.state === 'none' || this.state === 'impaired' ? `This runner runs no code: ${this.reason}` : undefined;
  }

  /** False while another attempt may end the refusal. */
  get isRefusalFinal(): boolean {
    return this.state === 'none';
  }

  /** Isolation of a new process, while there is no refusal: one that has ended does not come back. */
  isolate(place: number): Promise<Isolation> {
    return isolate(this.state as IsolationMode, program, place);
  }

  private async decide(): Promise<void> {
    const { isolation } = this.config;
    const problem = isolation === 'process' ? undefined : await bubblewrapProblem();
    if (problem && !problem.isCertain) this.tryLater(problem.text);
    else if (problem && isolation === 'bwrap') throw new ConfigError([requirement(problem.text)]);
    else if (problem) this.goWithout(problem.text);
    else if (isolation === 'process') this.become('process', risk('RUNNER_ISOLATION=process'));
    else this.become('bwrap', '');
  }

  private tryLater(problem: string): void {
    this.become(
      'impaired',
      `bubblewrap could not be tried (${problem}); another attempt follows in ${probeAgainMs / 1_000} s`,
    );
    this.timer = setTimeout(() => {
      this.decide().catch((error: unknown) => this.become('none', (error as Error).message));
    }, probeAgainMs).unref();
  }

  /** Where strangers reach the platform, code without a wall around it needs the consent of the operator. */
  private goWithout(problem: string): void {
    const sharesUser = this.platform.isOnlyProcess && !hasOwnUserIds;
    if (!sharesUser || isLocalOnly(this.config)) return this.become('process', risk(`bubblewrap: ${problem}`));
    this.become(
      'none',
      `it could read the data and keys of the platform (bubblewrap: ${problem}). Or accept that with RUNNER_ISOLATION=process.`,
    );
  }

  private become(state: State, reason: string): void {
    this.state = state;
    this.reason = reason;
    const text = `Isolation of the code of bots: ${this.description}`;
    if (state === 'bwrap' || state === 'process') this.logger.log(text);
    else this.logger.warn(text);
  }
}

function risk(reason: string): string {
  const isolated = hasOwnUserIds
    ? 'each process of code has a user id of its own'
    : "code of bots can read this user's files";
  const group = hasOwnGroups ? '' : '; it can signal all processes of the platform (perl: not installed)';
  return `${isolated} (${reason})${group}`;
}

function requirement(problem: string): string {
  return (
    `RUNNER_ISOLATION is bwrap, but bubblewrap does not work: ${problem}. Use it where user namespaces are allowed, or set ` +
    'RUNNER_ISOLATION=process.'
  );
}

/** `isCertain`: another attempt would end the same way. */
export interface BubblewrapProblem {
  text: string;
  isCertain: boolean;
}

/** Why code cannot run under bubblewrap; undefined if it can. Starts a process as it is started for a bot. */
export async function bubblewrapProblem(): Promise<BubblewrapProblem | undefined> {
  if (process.platform !== 'linux') return { text: 'needs Linux', isCertain: true };
  if (!findProgram('bwrap')) return { text: 'not installed; apt install bubblewrap', isCertain: true };
  const { limits, env, folder } = await isolate('bwrap', program, 0);
  const child = new BotChild({ ...limits, env, heapMb: 64, residentMb: 256 }, () => undefined);
  try {
    await child.load({ code: 'exports.handler = () => ({})', env: {} });
    const usage = child.pid && (await folder.usage(child.pid));
    return usage ? undefined : { text: 'its temporary folder cannot be measured', isCertain: true };
  } catch (error) {
    // A process that ended by itself tells why; one that was killed from outside, or that had no time, does not.
    const endedByItself = !child.isAlive;
    child.kill();
    const end = await child.ended;
    const text = endedByItself && end.cause === 'crash' ? end.detail : (error as Error).message;
    const isCertain = endedByItself && !(end.cause === 'crash' && end.detail === 'SIGKILL');
    return { text: text.replaceAll(/\s+/g, ' ').trim().slice(0, maxReasonLength), isCertain };
  } finally {
    child.kill();
    await child.ended;
  }
}
