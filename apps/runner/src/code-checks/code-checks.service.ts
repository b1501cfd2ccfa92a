import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { withTimeout } from '@parley/background/with-timeout';
import type { Caller } from '@parley/contracts/caller';
import { type CodeCheck, codeCheckMs, type LoadCode } from '@parley/contracts/runner/runner';
import { CodeFailed } from '../children/bot-child';
import { ChildrenService, noFaultOfCode } from '../children/children.service';

/** Pause between two looks for a place. */
const lookMs = 100;

/** Loads code before it is deployed. */
@Injectable()
export class CodeChecksService implements OnModuleDestroy {
  private readonly logger = new Logger(CodeChecksService.name);
  /** Code that hangs occupies a place of the runner: other deployments, and calls, get the rest. */
  private readonly loads = new FairSemaphore({ size: 8, maxEach: 2, maxWaitingEach: 100 });
  private readonly stopping = new AbortController();

  constructor(private readonly children: ChildrenService) {}

  /** A check that did not come to an end in time finds no failure. The load goes on, and keeps its place until it ends. */
  async run({ workspace }: Caller, input: LoadCode): Promise<CodeCheck> {
    const late = new AbortController();
    const waiting = AbortSignal.any([late.signal, this.stopping.signal]);
    const load = this.loads.run(workspace?.id ?? '', () => this.loadOnce(input, waiting), waiting);
    try {
      if (await withTimeout(codeCheckMs, load)) return { failure: null };
      return this.unchecked(input, `it was not loaded within ${codeCheckMs / 1_000} s.`);
    } catch (error) {
      if (error instanceof CodeFailed && !noFaultOfCode.has(error.failure)) return { failure: error.message };
      if (error instanceof CodeFailed) return this.unchecked(input, error.message);
      if (error instanceof TooManyWaiting) return this.unchecked(input, 'too much code of its workspace waits.');
      if (waiting.aborted) return this.unchecked(input, 'the runner is stopping.');
      throw error;
    } finally {
      late.abort();
    }
  }

  /** Those that wait would get no process any more. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  private async loadOnce(input: LoadCode, waiting: AbortSignal): Promise<void> {
    while (!this.children.canTryLoad) {
      await new Promise((resolve) => setTimeout(resolve, lookMs));
      waiting.throwIfAborted();
    }
    return this.children.tryLoad(input);
  }

  private unchecked({ owner, ownerId = '' }: LoadCode, reason: string): CodeCheck {
    this.logger.warn(`The code of the ${owner} ${ownerId} was not checked: ${reason}`);
    return { failure: null };
  }
}
