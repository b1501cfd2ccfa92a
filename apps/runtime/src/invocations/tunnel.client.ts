import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { systemCaller } from '@parley/contracts/caller';
import { isTunnelId, tunnelError, tunnelFailureOf, tunnelHolder, tunnelRequest } from '@parley/contracts/tunnel';
import { newId } from '@parley/persistence/ids';
import { tunnelKey } from '@parley/secrets/tunnel-key';
import { ParleyClient } from '@parley/transport/parley-client';
import { RuntimeConfig } from '../config';
import {
  type CalleeAnswer,
  ExchangeTooLarge,
  type CallRequest,
  CalleeTimedOut,
  CalleeUnavailable,
  CalleeUnreachable,
} from './invocation';

const reconnectMs = 5_000;
/** A request is lost after this many looks at which no gateway waits for its answer: the answer may be on its way. */
const looks = 3;
const lookMs = 2_000;

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

  async send(id: string, { headers, body, timeoutMs }: CallRequest): Promise<CalleeAnswer> {
    const [key, requestId] = [tunnelKey(id), newId('req')];
    const input = { method: 'POST', path: '/', headers, body, timeoutMs, requestId };
    const answered = new AbortController();
    const lost = this.rejectWhenLost(key, requestId, answered.signal);
    lost.catch(() => undefined);
    try {
      return await Promise.race([this.client.callInstance(tunnelRequest, key, systemCaller(requestId), input), lost]);
    } catch (error) {
      throw calleeError(error);
    } finally {
      answered.abort();
    }
  }

  /** A gateway that was killed never answers; the client may have a tunnel through another one already. */
  private async rejectWhenLost(key: string, requestId: string, answered: AbortSignal): Promise<never> {
    for (let misses = 0; misses < looks;) {
      await sleep(lookMs, undefined, { signal: answered });
      misses = (await this.isPending(key, requestId)) ? 0 : misses + 1;
    }
    throw tunnelError('disconnected');
  }

  private async isPending(key: string, requestId: string): Promise<boolean> {
    try {
      const { isPending = true } = await this.client.callInstance(tunnelHolder, key, systemCaller(requestId), {
        requestId,
      });
      return isPending;
    } catch (error) {
      return tunnelFailureOf(error) !== 'not connected';
    }
  }
}

function calleeError(error: unknown): unknown {
  const { message } = error as Error;
  switch (tunnelFailureOf(error)) {
    case 'not connected':
      return new CalleeUnavailable('The tunnel of the bot is not connected: start `bp dev` again.', reconnectMs);
    case 'busy':
      return new CalleeUnavailable(message, reconnectMs);
    case 'too large':
      return new ExchangeTooLarge(message);
    case 'timed out':
      return new CalleeTimedOut(message);
    case 'disconnected':
      return new CalleeUnreachable(message);
    case undefined:
      return error;
  }
}
