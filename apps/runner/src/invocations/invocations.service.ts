import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import {
  announceMs,
  type CodeAnswer,
  type InvokeCode,
  invokeCode,
  maxCodeTimeoutMs,
  putCodePart,
  runnerAnnounced,
  runnerError,
  runnerFailureOf,
  runnersWanted,
} from '@parley/contracts/runner/runner';
import { actionDepthHeader } from '@parley/contracts/runtime/actions';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { traceIdOf } from '@parley/tracing/traceparent';
import { ParleyClient } from '@parley/transport/parley-client';
import { ParleyServer } from '@parley/transport/parley-server';
import { CallNotBegun, CodeFailed, CodePaused } from '../children/bot-child';
import { ChildrenService } from '../children/children.service';
import { CodeService } from '../code/code.service';
import { RunnerConfig } from '../config';

/** Pause before a runtime that was refused hears of free places, where no regular announcement tells it. */
const refusedMs = announceMs / 2;

/** Answers the calls of the runtime, and announces this runner. */
@Injectable()
export class InvocationsService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly runnerId = newId('runner');
  private readonly countOutcome: (outcome: string) => void;
  private timer?: NodeJS.Timeout;
  private isLeaving = false;
  private underWay = 0;

  constructor(
    private readonly children: ChildrenService,
    private readonly code: CodeService,
    private readonly config: RunnerConfig,
    private readonly client: ParleyClient,
    private readonly server: ParleyServer,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    const { metrics } = platform;
    this.countOutcome = metrics.counters(
      'parley_runner_calls_total',
      'Calls of code by outcome: `answered`, or why there was no answer.',
      'outcome',
    );
    metrics.watchUnderWay('code', () => this.underWay);
  }

  async onApplicationBootstrap(): Promise<void> {
    const serving = [
      this.server.serveInstance(invokeCode, this.runnerId, (_caller, input) => this.invoke(input)),
      this.server.serveInstance(putCodePart, this.runnerId, (_caller, part) => Promise.resolve(this.code.put(part))),
    ];
    await Promise.all(serving.map(({ live }) => live));
    this.client.listen(runnersWanted, () => this.announce());
    this.announce();
  }

  /** Accepts no more calls. Those that run are answered before the connection to the bus closes. */
  onModuleDestroy(): void {
    this.isLeaving = true;
    this.announce();
  }

  private announce(): void {
    const { runnerId, isLeaving } = this;
    const { freePlaces } = this.children;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.client.broadcast(runnerAnnounced, { runnerId, freePlaces, isLeaving });
    if (isLeaving) return;
    if (!this.platform.isOnlyProcess) this.announceIn(announceMs);
    else if (freePlaces === 0) this.announceIn(refusedMs);
  }

  /** In the only process, the runtime cannot miss an announcement: without refusals, no further one is needed. */
  private announceIn(ms: number): void {
    this.timer ??= setTimeout(() => this.announce(), ms).unref();
  }

  private async invoke(input: InvokeCode): Promise<CodeAnswer> {
    if (this.isLeaving) throw runnerError('away', 'The runner is stopping.');
    this.underWay += 1;
    try {
      const answer = await this.call(input);
      this.countOutcome('answered');
      return answer;
    } catch (error) {
      this.countOutcome(error instanceof CodeFailed ? error.failure : (runnerFailureOf(error) ?? 'error'));
      if (error instanceof CodeFailed && error.failure === 'busy') this.announceIn(refusedMs);
      throw wireError(error);
    } finally {
      this.underWay -= 1;
    }
  }

  /** A call that another one kept from beginning is repeated once, in another process. */
  private async call(input: InvokeCode): Promise<CodeAnswer> {
    const startedAt = performance.now();
    const timeoutMs = Math.min(input.timeoutMs, maxCodeTimeoutMs);
    try {
      return await this.callOnce(input, timeoutMs);
    } catch (error) {
      const leftMs = Math.ceil(timeoutMs - (performance.now() - startedAt));
      if (!(error instanceof CallNotBegun) || leftMs <= 0) throw error;
      return this.callOnce(input, leftMs);
    }
  }

  private callOnce(input: InvokeCode, timeoutMs: number): Promise<CodeAnswer> {
    const { botId, ownerId, codeRevision, headers, body } = input;
    const frame = {
      request: { method: 'POST', path: '/', query: '', headers, body },
      apiHeaders: apiHeadersOf(headers),
      functionName: ownerId,
      functionVersion: codeRevision,
      memoryMb: this.config.memoryMb,
      timeoutMs,
    };
    return this.children.use(input, async (child, output) => {
      let id: string | undefined;
      try {
        return await child.invoke(frame, (invocationId) => {
          id = invocationId;
          output.begin(id, { ...input.context, botId, traceId: traceIdOf(headers['traceparent']) });
        });
      } finally {
        output.end(id);
      }
    });
  }
}

function apiHeadersOf({ [actionDepthHeader]: depth }: Record<string, string>): Record<string, string> {
  return depth === undefined ? {} : { [actionDepthHeader]: depth };
}

function wireError(error: unknown): unknown {
  if (!(error instanceof CodeFailed)) return error;
  const details = error instanceof CodePaused ? { leftMs: error.leftMs } : undefined;
  return runnerError(error.failure, error.message, details);
}
