import { Injectable } from '@nestjs/common';
import { toAsciiJson } from '@parley/egress/ascii-json';
import { signWebhook } from '@parley/egress/standard-webhooks';
import { CallCountsService } from '../records/call-counts.service';
import {
  type Callee,
  type CalleeAnswer,
  CalleeUnavailable,
  CallQuotaExceeded,
  type CallRequest,
  type Invocation,
  RunnerEnded,
} from './invocation';
import { RunnerClient } from './runner.client';
import { TunnelClient } from './tunnel.client';
import { UrlClient } from './url.client';

/** Calls bots and integrations, however they are reached. */
@Injectable()
export class CalleeClient {
  constructor(
    private readonly urls: UrlClient,
    private readonly tunnels: TunnelClient,
    private readonly runners: RunnerClient,
    private readonly counts: CallCountsService,
  ) {}

  /**
   * Counts the call, except for a ping and for the end of an installation. Throws CalleeUnavailable, CalleeTimedOut,
   * CalleeUnreachable, ExchangeTooLarge or RunnerEnded.
   */
  async call(callee: Callee, headers: Record<string, string>, invocation: Invocation): Promise<CalleeAnswer> {
    const { id, operation, context, timeoutMs, signal } = invocation;
    if (callee.isBlocked) throw new CalleeUnavailable('The bot is blocked.');
    const isCounted = operation !== 'ping' && operation !== 'unregister';
    if (callee.isOverQuota && isCounted)
      throw new CallQuotaExceeded(
        `Quota exceeded: the workspace may call its bots ${callee.callsPerMonth} times a month (invocation_calls).`,
      );
    const body = toAsciiJson(invocation.body);
    const signature = signWebhook({ id, timestamp: new Date(), body, secrets: callee.signingSecrets });
    const request = { operation, context, headers: { ...headers, ...signature }, body, timeoutMs, signal };
    try {
      const answer = await this.send(callee, request);
      if (isCounted) this.counts.count(callee);
      return answer;
    } catch (error) {
      if (isCounted && !(error instanceof CalleeUnavailable || error instanceof RunnerEnded)) this.counts.count(callee);
      throw error;
    }
  }

  private send(callee: Callee, request: CallRequest): Promise<CalleeAnswer> {
    const { owner, url, code } = callee;
    if (url === null) {
      if (code === null) throw new CalleeUnavailable(`The ${owner} has neither a url nor code.`);
      return this.runners.send(callee, code, request);
    }
    const tunnelId = this.tunnels.idOf(url);
    return tunnelId === undefined ? this.urls.send(url, request) : this.tunnels.send(tunnelId, request);
  }
}
