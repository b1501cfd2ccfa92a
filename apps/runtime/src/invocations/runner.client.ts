import { Injectable } from '@nestjs/common';
import { orWhenAborted } from '@parley/background/or-when-aborted';
import { systemCaller } from '@parley/contracts/caller';
import {
  type CodeOwner,
  invokeCode,
  type InvokeCode,
  type Lane,
  loadCode,
  type LoadCode,
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
  NoRunner,
} from './invocation';
import { RunnersService } from './runners.service';

/** Runners tell when they have free places; this is for those that could not. */
const retryAfterMs = 5_000;

/** Others are events. */
const lanes: Partial<Record<CallOperation, Lane>> = { action_triggered: 'actions', webhook_received: 'webhooks' };

/** Calls code, on the runner that probably has a warm process of it. */
@Injectable()
export class RunnerClient {
  constructor(
    private readonly client: ParleyClient,
    private readonly runners: RunnersService,
  ) {}

  async send(
    { owner, ownerId, botId }: Pick<Callee, 'owner' | 'ownerId' | 'botId'>,
    { revision, ticket }: CodeTarget,
    { operation, context, headers, body, timeoutMs }: CallRequest,
  ): Promise<CalleeAnswer> {
    const call = { lane: lanes[operation], context, headers, body, timeoutMs };
    const input: InvokeCode = { owner, ownerId, botId, codeRevision: revision, ticket, ...call };
    try {
      return await this.askOne(owner, ownerId, (runnerId) =>
        this.client.callInstance(invokeCode, runnerId, systemCaller(newId('req')), input),
      );
    } catch (error) {
      throw calleeError(error);
    }
  }

  /** Reason why the code cannot be loaded; undefined if it can. Throws NoRunner, and other errors of the platform. */
  async load(input: LoadCode): Promise<string | undefined> {
    try {
      await this.askOne(input.owner, input.ownerId ?? '', (runnerId) =>
        this.client.callInstance(loadCode, runnerId, systemCaller(newId('req')), input),
      );
      return undefined;
    } catch (error) {
      const failure = runnerFailureOf(error);
      if (failure === 'not loadable' || failure === 'out of memory') return (error as Error).message;
      throw error;
    }
  }

  /** Asks the runners in the order for this key, until one has a place. */
  private async askOne<T>(owner: CodeOwner, key: string, ask: (runnerId: string) => Promise<T>): Promise<T> {
    let reason = `No runner is there to run the code of the ${owner}.`;
    for (const runnerId of this.runners.inOrderFor(key)) {
      try {
        return await this.untilGone(runnerId, ask(runnerId));
      } catch (error) {
        const failure = runnerFailureOf(error);
        if (failure !== 'busy' && failure !== 'away') throw error;
        if (failure === 'away') this.runners.lookAgain(runnerId);
        reason = (error as Error).message;
      }
    }
    this.runners.noteRefusal();
    throw new NoRunner(reason, retryAfterMs);
  }

  /** A runner that was killed never answers. */
  private async untilGone<T>(runnerId: string, answer: Promise<T>): Promise<T> {
    const signal = this.runners.goneSignal(runnerId);
    if (!signal) throw runnerError('away', 'The runner is gone.');
    return orWhenAborted(signal, answer, () => runnerError('crashed', 'The runner ended before the code answered.'));
  }
}

function calleeError(error: unknown): unknown {
  const { message } = error as Error;
  switch (runnerFailureOf(error)) {
    case 'timed out':
      return new CalleeTimedOut(message);
    case 'too large':
      return new ExchangeTooLarge(message);
    case 'paused':
      return new CodePaused(message, pauseLeftMs(error));
    case 'not loadable':
    case 'failed':
    case 'crashed':
    case 'out of memory':
      return new CalleeUnreachable(message);
    case 'busy':
    case 'away':
    case undefined:
      return error;
  }
}
