import { Injectable } from '@nestjs/common';
import { systemCaller } from '@parley/contracts/caller';
import { isTunnelId, tunnelFailureOf, tunnelRequest } from '@parley/contracts/tunnel';
import { newId } from '@parley/persistence/ids';
import { tunnelKey } from '@parley/secrets/tunnel-key';
import { ParleyClient } from '@parley/transport/parley-client';
import { RuntimeConfig } from '../config';
import {
  type BotAnswer,
  BotExchangeTooLarge,
  type BotRequest,
  BotTimedOut,
  BotUnavailable,
  BotUnreachable,
} from './invocation';

const reconnectMs = 5_000;

/** Calls bots that run under `bp dev`, over the bus and through the gateway process that holds their tunnel. */
@Injectable()
export class TunnelClient {
  private readonly base?: string;

  constructor(
    private readonly client: ParleyClient,
    { tunnelUrl }: RuntimeConfig,
  ) {
    this.base = tunnelUrl && `${tunnelUrl.replace(/\/+$/, '')}/`;
  }

  /** Id of the tunnel that the url belongs to; undefined for other urls. */
  idOf(url: string): string | undefined {
    if (this.base === undefined || !url.startsWith(this.base)) return undefined;
    const id = url.slice(this.base.length).replace(/\/$/, '');
    return isTunnelId(id) ? id : undefined;
  }

  async send(id: string, { headers, body, timeoutMs }: BotRequest): Promise<BotAnswer> {
    const input = { method: 'POST', path: '/', headers, body, timeoutMs };
    try {
      return await this.client.callInstance(tunnelRequest, tunnelKey(id), systemCaller(newId('req')), input);
    } catch (error) {
      throw botError(error);
    }
  }
}

function botError(error: unknown): unknown {
  const { message } = error as Error;
  switch (tunnelFailureOf(error)) {
    case 'not connected':
      return new BotUnavailable('The tunnel of the bot is not connected: start `bp dev` again.', reconnectMs);
    case 'busy':
      return new BotUnavailable(message, reconnectMs);
    case 'too large':
      return new BotExchangeTooLarge(message);
    case 'timed out':
      return new BotTimedOut(message);
    case 'disconnected':
      return new BotUnreachable(message);
    case undefined:
      return error;
  }
}
