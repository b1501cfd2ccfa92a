import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { EgressClient } from '@parley/egress/egress.client';
import { maxWebhookBytes } from '@parley/contracts/runtime/webhooks';
import { bodyOf } from '@parley/service/webhook-body';
import {
  AddressRefused,
  RequestFailed,
  RequestTimedOut,
  RequestTooLarge,
  ResponseTooLarge,
} from '@parley/egress/egress-errors';
import {
  type CalleeAnswer,
  ExchangeTooLarge,
  type CallRequest,
  CalleeTimedOut,
  CalleeUnavailable,
  CalleeUnreachable,
} from './invocation';

/** Body of a webhook as JSON text in ASCII: at worst six bytes for each character. */
const maxWebhookCallBytes = 6 * maxWebhookBytes + 1_000_000;

/** Calls bots and integrations that have a server of their own. */
@Injectable()
export class UrlClient implements OnModuleDestroy {
  constructor(private readonly egress: EgressClient) {}

  onModuleDestroy(): Promise<void> {
    return this.egress.close();
  }

  async send(url: string, request: CallRequest): Promise<CalleeAnswer> {
    try {
      if (request.operation === 'webhook_received') return await this.passWebhook(url, request);
      const { status, headers, body } = await this.egress.post(url, request);
      return { status, headers, body: body.toString() };
    } catch (error) {
      if (error instanceof AddressRefused) throw new CalleeUnavailable(error.message);
      if (error instanceof RequestTimedOut) throw new CalleeTimedOut(error.message);
      if (error instanceof RequestFailed) throw new CalleeUnreachable(error.message);
      if (error instanceof ResponseTooLarge || error instanceof RequestTooLarge)
        throw new ExchangeTooLarge(error.message);
      throw error;
    }
  }

  /** Its answer may be any bytes. */
  private async passWebhook(url: string, request: CallRequest): Promise<CalleeAnswer> {
    const limits = { maxRequestBytes: maxWebhookCallBytes };
    const { status, headers, body: bytes } = await this.egress.post(url, { ...request, ...limits });
    const body = bodyOf(bytes);
    return { status, headers: { ...headers, ...body.headers }, body: body.body };
  }
}
