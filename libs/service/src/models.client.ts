import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { type AskForText, texts } from '@parley/contracts/models/texts';
import { ServerBusy, ServerRefused, ServerUnavailable } from '@parley/openai/server-errors';
import { ParleyClient } from '@parley/transport/parley-client';
import { callWatched } from '@parley/transport/watched-call';

const awayPauseMs = 2_000;

/** The providers ask for fewer requests. */
export class ModelsBusy extends ServerBusy {
  override readonly name = 'ModelsBusy';
}

/** Permanent: the providers reject this question, or none is configured. A retry would not help. */
export class ModelsRefused extends ServerRefused {
  override readonly name = 'ModelsRefused';
}

/** No provider could answer. A later attempt may succeed. */
export class ModelsUnavailable extends ServerUnavailable {
  override readonly name = 'ModelsUnavailable';
}

/** A budget is used up, or reserved by calls under way. */
export class BudgetUsedUp extends ServerUnavailable {
  override readonly name = 'BudgetUsedUp';
}

/** The models service cannot be reached: wait, without counting an attempt. */
export class ModelsAway extends Error {
  override readonly name = 'ModelsAway';
  readonly retryAfterMs = awayPauseMs;
}

export interface TextQuestion extends Omit<AskForText, 'picture'> {
  botId: string;
  /** Undefined while it is not known. */
  workspaceId: string | undefined;
  /** PNG. */
  picture?: Uint8Array;
}

/** Asks the models service for texts, which the bot pays. Never retries: the caller decides. */
@Injectable()
export class ModelsClient {
  constructor(private readonly client: ParleyClient) {}

  /** Throws ModelsBusy, ModelsRefused, ModelsUnavailable, BudgetUsedUp, ModelsAway, or the reason of the signal. */
  async generate({ botId, workspaceId, picture, ...input }: TextQuestion, signal: AbortSignal): Promise<string> {
    if (workspaceId === undefined) throw new ModelsAway(`The workspace of the bot "${botId}" is not known yet.`);
    const caller: Caller = {
      requestId: randomUUID(),
      credential: 'bak',
      bot: { id: botId, workspaceId },
      workspace: { id: workspaceId },
    };
    const asked = { ...input, ...(picture && { picture: base64Of(picture) }) };
    try {
      return (await callWatched(this.client, texts.generate, caller, asked, signal)).text.trim();
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ApiError ? failureOf(error) : error;
    }
  }
}

function failureOf(error: ApiError): Error {
  const { type, code, message, metadata, retryAfterSeconds = 0 } = error;
  if (type === 'QuotaExceeded') return new BudgetUsedUp(message, { cause: error });
  if (metadata?.['reason'] === 'busy') return new ModelsBusy(message, retryAfterSeconds * 1_000);
  if (metadata?.['reason'] === 'failed') return new ModelsUnavailable(message, { cause: error });
  if (code < 500) return new ModelsRefused(message, { cause: error });
  // A bus or a process that ends in the middle also leaves a call without an answer.
  const isAway = code === 503 || type === 'OperationTimeout';
  return isAway ? new ModelsAway(message, { cause: error }) : new ModelsUnavailable(message, { cause: error });
}

function base64Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}
