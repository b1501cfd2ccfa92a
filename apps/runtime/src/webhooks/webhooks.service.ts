import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import { orWhenAborted } from '@parley/background/or-when-aborted';
import type { Caller } from '@parley/contracts/caller';
import { ApiError, ifFound, notFound, unavailable } from '@parley/contracts/errors';
import type { Empty } from '@parley/contracts/paging';
import { registrations } from '@parley/contracts/admin/registrations';
import { sharedWebhooks } from '@parley/contracts/hub/shared-webhooks';
import {
  type ReceiveSharedWebhook,
  type ReceiveWebhook,
  type RequireWebhook,
  type WebhookAnswer,
  type WebhookRequest,
  webhookTimeoutMs,
} from '@parley/contracts/runtime/webhooks';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { bodyProblem } from '@parley/service/webhook-body';
import { ParleyClient } from '@parley/transport/parley-client';
import { newTraceparent } from '@parley/tracing/traceparent';
import { RuntimeConfig } from '../config';
import { IntegrationClient, type InstalledTarget } from '../invocations/integration.client';
import { IntegrationTargetsCache } from '../invocations/integration-targets.cache';
import {
  type CalleeAnswer,
  CalleeTimedOut,
  CalleeUnavailable,
  CalleeUnreachable,
  ExchangeTooLarge,
  type Invocation,
  isCallError,
  isPlatformFault,
  NoRunner,
  RunnerEnded,
} from '../invocations/invocation';
import { IssueRecordsService } from '../records/issue-records.service';
import { WebhookRecorderService } from './webhook-recorder.service';

/** A request waits this long for a place of a runner. Its sender repeats it after a 503. */
const maxPlaceWaitMs = 10_000;
const placePauseMs = 200;
const identifierHeader = 'x-bp-integration-identifier';
const maxIdentifierLength = 200;

/** Hands requests to webhooks on to integrations. */
@Injectable()
export class WebhooksService {
  private readonly underWay = new KeyCounts();
  private readonly countAnswer: (outcome: string) => void;

  constructor(
    private readonly client: ParleyClient,
    private readonly targets: IntegrationTargetsCache,
    private readonly integrations: IntegrationClient,
    private readonly issues: IssueRecordsService,
    private readonly recorder: WebhookRecorderService,
    private readonly config: RuntimeConfig,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.countAnswer = metrics.counters(
      'parley_webhooks_total',
      'Requests to webhooks of integrations by outcome: `answered`, `refused`, `timed out` or `failed`.',
      'outcome',
    );
    metrics.watchUnderWay('webhooks', () => sumOf(this.underWay.values()));
  }

  /** Throws ResourceNotFound for an unknown webhook, a disabled installation, or the chat. */
  async require({ webhookId }: RequireWebhook): Promise<Empty> {
    await this.getTarget(webhookId);
    return {};
  }

  /**
   * One attempt: the sender repeats a request without a successful answer. Throws ResourceNotFound for an unknown
   * webhook or a disabled installation, RateLimited, OperationTimeout, and an error 502 or 503.
   */
  async receive(caller: Caller, { webhookId, request }: ReceiveWebhook): Promise<WebhookAnswer> {
    return this.receiveFor(caller, await this.getTarget(webhookId), request);
  }

  /** Without an installation that it is for, the integration's fallback script answers. Throws as `receive`. */
  async receiveShared(caller: Caller, shared: ReceiveSharedWebhook): Promise<WebhookAnswer> {
    const { family, identifier, path } = await this.client.call(sharedWebhooks.route, caller, shared);
    const target = family && identifier ? await ifFound(this.targets.getByIdentifier(family, identifier)) : undefined;
    if (target?.installation.isEnabled) return this.receiveFor(caller, target, { ...shared.request, path });
    const { answer } = await this.client.call(sharedWebhooks.answer, caller, shared);
    if (answer) return answer;
    throw new ApiError('ResourceNotFound', 'No installation of the integration has an identifier for this request.');
  }

  private async getTarget(webhookId: string): Promise<InstalledTarget> {
    const target = await this.targets.getByWebhookId(webhookId);
    const { isEnabled, isChat, webhookUrl } = target.installation;
    if (!isEnabled) throw notFound('webhook', webhookId);
    if (isChat)
      throw new ApiError(
        'ResourceNotFound',
        `The webhook "${webhookId}" was not found: it is the id of a chat, whose clients call ${webhookUrl}.`,
      );
    return target;
  }

  /** Records the request with its answer, unless the installation has too many: a flood would replace all others. */
  private async receiveFor(caller: Caller, target: InstalledTarget, request: WebhookRequest): Promise<WebhookAnswer> {
    const { webhookId } = target.installation;
    const received = { id: newId('webhookreq'), webhookId, receivedAt: new Date(), request };
    try {
      const answer = await this.handOn(caller, target, request);
      this.recorder.record({ ...received, status: answer.status });
      return answer;
    } catch (error) {
      const status = error instanceof ApiError ? error.code : 500;
      if (status !== 429) this.recorder.record({ ...received, status });
      throw error;
    }
  }

  /** One attempt. Throws as `receive`. */
  async handOn(caller: Caller, target: InstalledTarget, request: WebhookRequest): Promise<WebhookAnswer> {
    const { webhookId } = target.installation;
    if (this.underWay.count(webhookId) >= this.config.webhooksPerInstallation) throw this.tooMany();
    this.underWay.add(webhookId, 1);
    try {
      const { status, headers = {}, body } = await this.call(target, caller, request);
      const problem = bodyProblem({ headers, body });
      if (problem) throw new CalleeUnreachable(problem);
      this.countAnswer('answered');
      if (request.path.startsWith('/oauth')) await this.connect(caller, target, { status, headers });
      return { status, headers, body };
    } catch (error) {
      throw this.apiErrorOf(error, target);
    } finally {
      this.underWay.add(webhookId, -1);
    }
  }

  private async call(target: InstalledTarget, caller: Caller, request: object): Promise<CalleeAnswer> {
    const timeoutMs = Math.min(target.integration.timeoutMs, webhookTimeoutMs);
    // Starting a process of the code takes some of the time too.
    const signal = AbortSignal.timeout(timeoutMs);
    const invocation: Invocation = {
      ...{ operation: 'webhook_received', type: 'webhook_received', body: { req: request }, attempt: 1 },
      ...{ id: newId('webhookreq'), timeoutMs, signal, traceparent: caller.traceparent ?? newTraceparent() },
    };
    return orWhenAborted(
      signal,
      this.callWhenPlaceIsFree(target, invocation),
      () => new CalleeTimedOut(`no answer within ${timeoutMs} ms`),
    );
  }

  /** The integration may name the account that it was connected with, which belongs to no other installation from now on. */
  private async connect(
    caller: Caller,
    { installation: { botId, alias, integrationId } }: InstalledTarget,
    { status, headers }: { status: number; headers: Record<string, string> },
  ): Promise<void> {
    const named = Object.entries(headers).find(([name]) => name.toLowerCase() === identifierHeader)?.[1];
    const isUsable = named !== undefined && named.length <= maxIdentifierLength && !named.includes('\0');
    if (status >= 400 && !isUsable) return;
    const identifier = isUsable ? named : undefined;
    await this.client.call(registrations.connect, caller, { botId, alias, integrationId, identifier });
  }

  private async callWhenPlaceIsFree(target: InstalledTarget, invocation: Invocation): Promise<CalleeAnswer> {
    const endsAt = performance.now() + maxPlaceWaitMs;
    for (;;) {
      try {
        return await this.integrations.invoke(target, invocation);
      } catch (error) {
        if (!(error instanceof NoRunner) || performance.now() > endsAt) throw error;
        await sleep(placePauseMs, undefined, { signal: invocation.signal });
      }
    }
  }

  private tooMany(): ApiError {
    this.countAnswer('refused');
    return new ApiError(
      'RateLimited',
      `${this.config.webhooksPerInstallation} requests to this webhook are being handled.`,
      { retryAfterSeconds: 1 },
    );
  }

  private apiErrorOf(error: unknown, { installation: { alias, botId } }: InstalledTarget): unknown {
    if (!isCallError(error)) return error;
    const { message } = error;
    this.countAnswer(error instanceof CalleeTimedOut ? 'timed out' : 'failed');
    if (!isPlatformFault(error))
      this.issues.record({
        ...{ botId, code: 'webhook_failed', category: 'user_code', groupBy: ['alias'] },
        title: `A webhook of the integration "${alias}" failed`,
        description: message,
        data: { alias: { raw: alias }, reason: { raw: message } },
      });
    const text = `The integration "${alias}" did not handle the request: ${message}`;
    if (error instanceof CalleeTimedOut || error instanceof RunnerEnded) return new ApiError('OperationTimeout', text);
    if (error instanceof ExchangeTooLarge) return new ApiError('PayloadTooLarge', text);
    if (error instanceof CalleeUnavailable) return unavailable(text);
    return new ApiError('Runtime', text, { code: 502 });
  }
}

function sumOf(counts: Iterable<number>): number {
  return [...counts].reduce((sum, count) => sum + count, 0);
}
