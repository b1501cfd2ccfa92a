import { Injectable } from '@nestjs/common';
import { notFound } from '@parley/contracts/errors';
import type { BotPing, PingBot } from '@parley/contracts/runtime/pings';
import { newId } from '@parley/persistence/ids';
import { newTraceparent } from '@parley/tracing/traceparent';
import { isUUID } from 'class-validator';
import { BotTargetsCache } from './bot-targets.cache';
import { BotClient } from './bot.client';
import { isCallError } from './invocation';
import { outcomeOf } from './outcome';

const timeoutMs = 15_000;

@Injectable()
export class PingsService {
  constructor(
    private readonly targets: BotTargetsCache,
    private readonly bots: BotClient,
  ) {}

  async ping({ botId }: PingBot): Promise<BotPing> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    const target = await this.targets.get(botId);
    const began = performance.now();
    const ping = (status: number | null, error: string | null): BotPing => ({
      durationMs: Math.round(performance.now() - began),
      status,
      error,
    });
    try {
      const answer = await this.bots.invoke(target, {
        operation: 'ping',
        type: 'ping',
        body: {},
        id: newId('ping'),
        attempt: 1,
        timeoutMs,
        traceparent: newTraceparent(),
        signal: AbortSignal.timeout(timeoutMs + 1_000),
      });
      const outcome = outcomeOf(answer);
      return ping(answer.status, 'reason' in outcome ? outcome.reason : null);
    } catch (error) {
      if (isCallError(error)) return ping(null, error.message);
      throw error;
    }
  }
}
