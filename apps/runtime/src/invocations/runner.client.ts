import { Injectable } from '@nestjs/common';
import { orWhenAborted } from '@parley/background/or-when-aborted';
import { systemCaller } from '@parley/contracts/caller';
import {
  type CodeAnswer,
  invokeCode,
  type InvokeCode,
  type Lane,
  loadCode,
  type LoadCode,
  runnerError,
  runnerFailureOf,
} from '@parley/contracts/runner/runner';
import type { InstanceOperation } from '@parley/contracts/operation';
import type { CodeTarget } from '@parley/contracts/runner/code';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import {
  type Callee,
  type CalleeAnswer,
  type CallOperation,
  ExchangeTooLarge,
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
      return await this.askOne<InvokeCode, CodeAnswer>(ownerId, invokeCode, input);
    } catch (error) {
      throw calleeError(error);
    }
  }

  /** Reason why the code cannot be loaded; undefined if it can. Throws NoRunner, and other errors of the platform. */
  async load(input: LoadCode): Promise<string | undefined> {
    try {
      await this.askOne(input.ownerId ?? '', loadCode, input);
      return undefined;
    } catch (error) {
      const failure = runnerFailureOf(error);
      if (failure === 'not loadable' || failure === 'out of memory') return (error as Error).message;
      throw error;
    }
  }

  /** Asks the runners in the order for this key, until one has a place. */
  private async askOne<I extends LoadCode | InvokeCode, O>(
    key: string,
    operation: InstanceOperation<I, O>,
    input: I,
  ): Promise<O> {
    let reason = `No runner is there to run the code of the ${input.owner}.`;
    for (const runnerId of this.runners.inOrderFor(key)) {
      try {
        return await this.ask(runnerId, operation, input);
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
  private async ask<I, O>(runnerId: string, operation: InstanceOperation<I, O>, input: I): Promise<O> {
    const signal = this.runners.goneSignal(runnerId);
    if (!signal) throw runnerError('away', 'The runner is gone.');
    return orWhenAborted(signal, this.client.callInstance(operation, runnerId, systemCaller(newId('req')), input), () =>
      runnerError('crashed', 'The runner ended before the code answered.'),
    );
  }
}

function calleeError(error: unknown): unknown {
  const { message } = error as Error;
  switch (runnerFailureOf(error)) {
    case 'timed out':
      return new CalleeTimedOut(message);
    case 'too large':
      return new ExchangeTooLarge(message);
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
