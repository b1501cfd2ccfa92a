import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import { maxRecordedBodyBytes, type ReplayRequest } from '@parley/contracts/runtime/webhook-recordings';
import type { WebhookAnswer } from '@parley/contracts/runtime/webhooks';
import { IntegrationTargetsCache } from '../invocations/integration-targets.cache';
import { WebhookRecordingsService } from './webhook-recordings.service';
import { WebhooksService } from './webhooks.service';

/** Replays of recorded requests. They are not recorded again. */
@Injectable()
export class WebhookReplaysService {
  constructor(
    private readonly recordings: WebhookRecordingsService,
    private readonly targets: IntegrationTargetsCache,
    private readonly webhooks: WebhooksService,
  ) {}

  async replay(caller: WorkspaceCaller, input: ReplayRequest): Promise<WebhookAnswer> {
    await this.recordings.requireBot(caller, input);
    return this.replayOfAnyBot(caller, input);
  }

  /** Throws as `WebhooksService.receive`, and InvalidPayload for a request without its body. */
  async replayOfAnyBot(caller: Caller, input: ReplayRequest): Promise<WebhookAnswer> {
    const target = await this.targets.getNow(input.botId, { alias: input.alias });
    const { isEnabled, isChat, webhookId } = target.installation;
    if (!isEnabled || isChat) throw notFound('webhook of the installation', input.alias);
    const { method, path, query, headers, ...recorded } = await this.recordings.getRequest(input, webhookId);
    if (!recorded.isComplete)
      throw new ApiError(
        'InvalidPayload',
        `The request cannot be replayed: its body of ${recorded.bodyBytes} bytes was not kept. Bodies of at most ${maxRecordedBodyBytes} bytes are.`,
      );
    const added = Object.entries(input.headers ?? {}).map(([name, value]): [string, string] => [
      name.toLowerCase(),
      value,
    ]);
    return this.webhooks.handOn(caller, target, {
      ...{ method, path, query, body: recorded.body },
      headers: { ...headers, ...Object.fromEntries(added) },
    });
  }
}
