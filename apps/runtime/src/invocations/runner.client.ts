import { Injectable } from '@nestjs/common';
import { orWhenAborted } from '@parley/background/or-when-aborted';
import type { CodeTarget } from '@parley/contracts/admin/targets';
import { systemCaller } from '@parley/contracts/caller';
import {
  type CodeAnswer,
  invokeCode,
  type InvokeCode,
  type Lane,
  runnerError,
  runnerFailureOf,
} from '@parley/contracts/runner/runner';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import {
  type BotAnswer,
  BotExchangeTooLarge,
  type BotRequest,
  BotTimedOut,
  BotUnreachable,
  NoRunner,
} from './invocation';
import { RunnersService } from './runners.service';

/** Runners tell when they have free places; this is for those that could not. */
const retryAfterMs = 5_000;

/** Calls the code of bots, on the runner that probably has a warm process of it. */
@Injectable()
export class RunnerClient {
  constructor(
    private readonly client: ParleyClient,
    private readonly runners: RunnersService,
  ) {}

  async send(
    botId: string,
    { revision, ticket }: CodeTarget,
    { operation, context, headers, body, timeoutMs }: BotRequest,
  ): Promise<BotAnswer> {
    const lane: Lane = operation === 'action_triggered' ? 'actions' : 'events';
    const input = { botId, codeRevision: revision, ticket, lane, context, headers, body, timeoutMs };
    let reason = 'No runner is there to run the code of the bot.';
    for (const runnerId of this.runners.inOrderFor(botId)) {
      try {
        return await this.ask(runnerId, input);
      } catch (error) {
        const failure = runnerFailureOf(error);
        if (failure !== 'busy' && failure !== 'away') throw botError(error);
        if (failure === 'away') this.runners.forget(runnerId);
        reason = (error as Error).message;
      }
    }
    this.runners.noteRefusal();
    throw new NoRunner(reason, retryAfterMs);
  }

  /** A runner that was killed never answers. */
  private async ask(runnerId: string, input: InvokeCode): Promise<CodeAnswer> {
    const signal = this.runners.goneSignal(runnerId);
    if (!signal) throw runnerError('away', 'The runner is gone.');
    return orWhenAborted(
      signal,
      this.client.callInstance(invokeCode, runnerId, systemCaller(newId('req')), input),
      () => runnerError('crashed', 'The runner ended before the code answered.'),
    );
  }
}

function botError(error: unknown): unknown {
  const { message } = error as Error;
  switch (runnerFailureOf(error)) {
    case 'timed out':
      return new BotTimedOut(message);
    case 'too large':
      return new BotExchangeTooLarge(message);
    case 'not loadable':
    case 'failed':
    case 'crashed':
    case 'out of memory':
      return new BotUnreachable(message);
    case 'busy':
    case 'away':
    case undefined:
      return error;
  }
}
