import { Injectable } from '@nestjs/common';
import { orWhenAborted } from '@parley/background/or-when-aborted';
import { systemCaller } from '@parley/contracts/caller';
import type { ApiError } from '@parley/contracts/errors';
import {
  type CodeAnswer,
  type CodeOwner,
  invokeCode,
  type InvokeCode,
  lackingOf,
  type Lane,
  runnerError,
  pauseLeftMs,
  runnerFailureOf,
} from '@parley/contracts/runner/runner';
import type { CodeTarget } from '@parley/contracts/runner/code';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import {
  type Callee,
  type CalleeAnswer,
  type CallOperation,
  ExchangeTooLarge,
  CodePaused,
  type CallRequest,
  CalleeTimedOut,
  CalleeUnreachable,
  CodeNotStarted,
  CodeUnprepared,
  NoRunner,
  NotLoadable,
  RunnerEnded,
  RunnersBusy,
} from './invocation';
import { CodePreparationClient, type Prepared } from './code-preparation.client';
import { RunnersService } from './runners.service';
import { UnloadableCodeLimiter } from './unloadable-code.limiter';

/** A place that was kept for the code may be lost again, for example when the code loads slowly and its process ends. */
const maxPreparations = 3;
const ended = 'The runner ended before the code answered.';

/** Others are events. */
const lanes: Partial<Record<CallOperation, Lane>> = { action_triggered: 'actions', webhook_received: 'webhooks' };

/** Calls code, on the runner that probably has a warm process of it. */
@Injectable()
export class RunnerClient {
  constructor(
    private readonly client: ParleyClient,
    private readonly runners: RunnersService,
    private readonly preparation: CodePreparationClient,
    private readonly unloadable: UnloadableCodeLimiter,
  ) {}

  async send(
    { owner, ownerId, botId, workspaceId }: Pick<Callee, 'owner' | 'ownerId' | 'botId' | 'workspaceId'>,
    code: CodeTarget,
    { operation, context, headers, body, timeoutMs, signal }: CallRequest,
  ): Promise<CalleeAnswer> {
    const call = { lane: lanes[operation], context, headers, body, timeoutMs };
    const input: InvokeCode = { owner, ownerId, botId, codeRevision: code.revision, ...call };
    const prepared = { owner, ownerId, workspaceId, ...code };
    const ask = () => this.askOne(owner, ownerId, (runnerId) => this.askPrepared(runnerId, input, prepared, signal));
    const answer = this.unloadable.run({ ownerId, workspaceId }, code.revision, ask);
    return orWhenAborted(signal, answer, () => new CalleeTimedOut('The code did not answer in time.'));
  }

  /** Asks the runners in the order for this key, until one has a place. */
  private async askOne(
    owner: CodeOwner,
    key: string,
    ask: (runnerId: string) => Promise<CodeAnswer>,
  ): Promise<CodeAnswer> {
    let refusal = new NoRunner(`No runner is there to run the code of the ${owner}.`);
    for (const runnerId of this.runners.inOrderFor(key)) {
      try {
        return await ask(runnerId);
      } catch (error) {
        const failure = calleeError(error);
        if (!(failure instanceof NoRunner) || failure instanceof CodeUnprepared) throw failure;
        const isBusy = failure instanceof RunnersBusy;
        if (!isBusy) this.runners.lookAgain(runnerId);
        if (isBusy || !(refusal instanceof RunnersBusy)) refusal = failure;
      }
    }
    this.runners.noteRefusal();
    throw refusal;
  }

  /** Calls again with what the runner lacks. */
  private async askPrepared(
    runnerId: string,
    input: InvokeCode,
    code: Prepared,
    signal: AbortSignal,
  ): Promise<CodeAnswer> {
    let sealed: string[] | undefined;
    for (let preparations = 0; ; preparations += 1) {
      const answer = this.client.callInstance(invokeCode, runnerId, systemCaller(newId('req')), { ...input, sealed });
      try {
        return await this.untilGone(runnerId, answer, () => new RunnerEnded(ended));
      } catch (error) {
        const lacking = lackingOf(error);
        if (!lacking || preparations === maxPreparations) throw error;
        const brought = this.preparation.prepare(runnerId, code, lacking);
        sealed = (await this.untilGone(runnerId, brought, gone)) ?? sealed;
        signal.throwIfAborted();
      }
    }
  }

  /** A runner that was killed never answers. */
  private async untilGone<T>(runnerId: string, answer: Promise<T>, error: () => Error): Promise<T> {
    const signal = this.runners.goneSignal(runnerId);
    if (!signal) throw gone();
    return orWhenAborted(signal, answer, error);
  }
}

function gone(): ApiError {
  return runnerError('away', 'The runner is gone.');
}

/** Error of a failed call: see the table of decision 0081. */
function calleeError(error: unknown): unknown {
  const { message } = error as Error;
  switch (runnerFailureOf(error)) {
    case 'timed out':
      return new CalleeTimedOut(message);
    case 'too large':
      return new ExchangeTooLarge(message);
    case 'paused':
      return new CodePaused(message, pauseLeftMs(error));
    case 'unprepared':
      return new CodeUnprepared(message);
    case 'not started':
      return new CodeNotStarted(message);
    case 'ended':
      return new RunnerEnded(ended);
    case 'not loadable':
      return new NotLoadable(message);
    case 'failed':
    case 'crashed':
    case 'out of memory':
      return new CalleeUnreachable(message);
    case 'busy':
      return new RunnersBusy(message);
    case 'away':
      return new NoRunner(message);
    case undefined:
      return error;
  }
}
