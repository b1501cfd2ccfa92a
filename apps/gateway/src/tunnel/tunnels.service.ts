import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { systemCaller } from '@parley/contracts/caller';
import { toApiError } from '@parley/service/error-body';
import {
  tunnelFailureOf,
  tunnelHolder,
  tunnelRequest,
  type TunnelReply,
  type TunnelRequest,
} from '@parley/contracts/tunnel';
import { tunnelKey } from '@parley/secrets/tunnel-key';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { type Subscription, withDeadline } from '@parley/transport/driver';
import { ParleyClient } from '@parley/transport/parley-client';
import { ParleyServer } from '@parley/transport/parley-server';
import { Tunnel } from './tunnel';

const liveTimeoutMs = 5_000;

interface Claim {
  tunnel: Tunnel;
  served: Subscription[];
}

/** Tunnels of this process. The one that holds an id answers on the bus for its key. */
@Injectable()
export class TunnelsService {
  private readonly claims = new Map<string, Claim>();
  private readonly countOutcome: (outcome: string) => void;

  constructor(
    private readonly client: ParleyClient,
    private readonly server: ParleyServer,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.countOutcome = metrics.counters(
      'parley_tunnel_requests_total',
      'Requests through tunnels of `bp dev`, by outcome.',
      'outcome',
    );
  }

  /**
   * Tunnel with this id, which the caller connects or closes. Undefined when this or another process holds the id. Two
   * processes that are asked at the same moment may both accept it; the first answer to each request counts then.
   */
  async claim(id: string): Promise<Tunnel | undefined> {
    if (this.claims.has(id)) return undefined;
    const claim: Claim = { tunnel: new Tunnel(() => this.release(id)), served: [] };
    const { tunnel } = claim;
    this.claims.set(id, claim);
    try {
      if (await this.serve(claim, tunnelKey(id))) return tunnel;
    } catch (error) {
      this.release(id);
      throw error;
    }
    this.release(id);
    return undefined;
  }

  closeAll(code: number, reason: string): void {
    for (const { tunnel } of [...this.claims.values()]) tunnel.close(code, reason);
  }

  /** False when another process holds the id. */
  private async serve({ tunnel, served }: Claim, key: string): Promise<boolean> {
    if (await this.isHeldElsewhere(key)) return false;
    served.push(
      this.server.serveInstance(tunnelRequest, key, (_caller, input) => this.request(tunnel, input)),
      this.server.serveInstance(tunnelHolder, key, (_caller, { requestId }) =>
        Promise.resolve(requestId === undefined ? {} : { isPending: tunnel.isPending(requestId) }),
      ),
    );
    await withDeadline(tunnelRequest.subject, Promise.all(served.map(({ live }) => live)), liveTimeoutMs);
    return true;
  }

  private release(id: string): void {
    this.claims.get(id)?.served.forEach((subscription) => subscription.stop());
    this.claims.delete(id);
  }

  private async isHeldElsewhere(key: string): Promise<boolean> {
    try {
      await this.client.callInstance(tunnelHolder, key, systemCaller(randomUUID()), {});
      return true;
    } catch (error) {
      if (toApiError(error).code === 503) return false;
      throw error;
    }
  }

  private async request(tunnel: Tunnel, input: TunnelRequest): Promise<TunnelReply> {
    try {
      const reply = await tunnel.request(input);
      this.countOutcome('answered');
      return reply;
    } catch (error) {
      this.countOutcome(tunnelFailureOf(error) ?? 'failed');
      throw error;
    }
  }
}
