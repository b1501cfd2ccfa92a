import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { workerFile } from '@parley/background/worker-file';
import { ConfigError } from '@parley/config/config';
import { RunnerConfig } from '../config';
import { BotChild } from './bot-child';
import { type Isolation, isolate, type IsolationMode } from './isolation';

const program = workerFile(`${__dirname}/../host`, 'host.child');
const maxReasonLength = 300;

/** Decides at the start how the processes of code are isolated. */
@Injectable()
export class IsolationService implements OnModuleInit {
  private readonly logger = new Logger(IsolationService.name);
  private chosen?: IsolationMode;

  constructor(private readonly config: RunnerConfig) {}

  /** Throws ConfigError if bubblewrap is required and does not work. */
  async onModuleInit(): Promise<void> {
    const { isolation } = this.config;
    const problem = isolation === 'process' ? undefined : await bubblewrapProblem();
    if (isolation === 'bwrap' && problem !== undefined) throw new ConfigError([requirement(problem)]);
    this.chosen = isolation === 'process' || problem !== undefined ? 'process' : 'bwrap';
    const reason = problem === undefined ? '' : `: bubblewrap does not work (${problem})`;
    this.logger.log(`Isolation of the code of bots: ${this.chosen}${reason}`);
  }

  get mode(): IsolationMode {
    return this.chosen!;
  }

  isolate(place: number): Promise<Isolation> {
    return isolate(this.mode, program, place);
  }
}

function requirement(problem: string): string {
  return (
    `RUNNER_ISOLATION is bwrap, but bubblewrap does not work: ${problem}. Install it (Debian: \`apt-get install ` +
    'bubblewrap`) where user namespaces are allowed, or set RUNNER_ISOLATION=process.'
  );
}

/** Why code cannot run under bubblewrap; undefined if it can. Starts a process as it is started for a bot. */
export async function bubblewrapProblem(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'it needs Linux';
  const { limits, env, folder } = await isolate('bwrap', program, 0);
  const child = new BotChild({ ...limits, env, heapMb: 64, residentMb: 256 }, () => undefined);
  try {
    await child.load({ code: 'exports.handler = () => ({})', env: {} });
    const usage = child.pid && (await folder.usage(child.pid));
    return usage ? undefined : 'its temporary folder cannot be measured';
  } catch (error) {
    child.kill();
    const end = await child.ended;
    const reason = end.cause === 'crash' ? end.detail : (error as Error).message;
    return reason.replaceAll(/\s+/g, ' ').trim().slice(0, maxReasonLength);
  } finally {
    child.kill();
    await child.ended;
  }
}
