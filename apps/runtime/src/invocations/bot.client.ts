import { Injectable } from '@nestjs/common';
import type { BotTarget } from '@parley/contracts/admin/targets';
import { toAsciiJson } from '@parley/egress/ascii-json';
import { signWebhook } from '@parley/egress/standard-webhooks';
import { CallCountsService } from '../call-counts/call-counts.service';
import { botHeaders } from './bot-headers';
import { type BotAnswer, type BotRequest, BotUnavailable, CallQuotaExceeded, type Invocation } from './invocation';
import { RunnerClient } from './runner.client';
import { TunnelClient } from './tunnel.client';
import { UrlClient } from './url.client';

/** Calls bots. */
@Injectable()
export class BotClient {
  constructor(
    private readonly urls: UrlClient,
    private readonly tunnels: TunnelClient,
    private readonly runners: RunnerClient,
    private readonly counts: CallCountsService,
  ) {}

  /** Counts the call, except for a ping. Throws BotUnavailable, BotTimedOut, BotUnreachable or BotExchangeTooLarge. */
  async invoke(target: BotTarget, invocation: Invocation): Promise<BotAnswer> {
    if (target.isBlocked) throw new BotUnavailable('The bot is blocked.');
    const isPing = invocation.operation === 'ping';
    if (target.isOverQuota && !isPing)
      throw new CallQuotaExceeded(
        `Quota exceeded: the workspace may call its bots ${target.callsPerMonth} times a month (invocation_calls).`,
      );
    const body = toAsciiJson(invocation.body);
    const signature = signWebhook({
      id: invocation.id,
      timestamp: new Date(),
      body,
      secrets: target.signingSecrets,
    });
    const headers = { ...botHeaders(target, invocation), ...signature };
    const { operation, context } = invocation;
    const request = { operation, context, headers, body, timeoutMs: invocation.timeoutMs, signal: invocation.signal };
    try {
      const answer = await this.send(target, request);
      if (!isPing) this.counts.count(target);
      return answer;
    } catch (error) {
      if (!isPing && !(error instanceof BotUnavailable)) this.counts.count(target);
      throw error;
    }
  }

  private send({ botId, url, code }: BotTarget, request: BotRequest): Promise<BotAnswer> {
    if (url === null) {
      if (code === null) throw new BotUnavailable('The bot has neither a url nor code.');
      return this.runners.send(botId, code, request);
    }
    const tunnelId = this.tunnels.idOf(url);
    return tunnelId === undefined ? this.urls.send(url, request) : this.tunnels.send(tunnelId, request);
  }
}
