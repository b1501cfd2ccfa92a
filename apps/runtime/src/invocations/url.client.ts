import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { EgressClient } from '@parley/egress/egress.client';
import {
  AddressRefused,
  RequestFailed,
  RequestTimedOut,
  RequestTooLarge,
  ResponseTooLarge,
} from '@parley/egress/egress-errors';
import {
  type BotAnswer,
  BotExchangeTooLarge,
  type BotRequest,
  BotTimedOut,
  BotUnavailable,
  BotUnreachable,
} from './invocation';

/** Calls bots that have a server of their own. */
@Injectable()
export class UrlClient implements OnModuleDestroy {
  constructor(private readonly egress: EgressClient) {}

  onModuleDestroy(): Promise<void> {
    return this.egress.close();
  }

  async send(url: string, request: BotRequest): Promise<BotAnswer> {
    try {
      const { status, body } = await this.egress.post(url, request);
      return { status, body: body.toString() };
    } catch (error) {
      if (error instanceof AddressRefused) throw new BotUnavailable(error.message);
      if (error instanceof RequestTimedOut) throw new BotTimedOut(error.message);
      if (error instanceof RequestFailed) throw new BotUnreachable(error.message);
      if (error instanceof ResponseTooLarge || error instanceof RequestTooLarge)
        throw new BotExchangeTooLarge(error.message);
      throw error;
    }
  }
}
