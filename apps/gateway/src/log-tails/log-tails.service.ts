import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import { operator } from '@parley/contracts/access';
import { botVisibility } from '@parley/contracts/admin/bot-visibility';
import type { Caller } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { logLines, tailPingMs } from '@parley/contracts/runtime/log-tails';
import { Readiness } from '@parley/service/health.controller';
import type { TracedRequest } from '@parley/service/request-trace';
import { withDeadline } from '@parley/transport/driver';
import { tenantOf } from '@parley/transport/envelope';
import { ParleyClient } from '@parley/transport/parley-client';
import { isUUID } from 'class-validator';
import { IdentityService } from '../auth/identity.service';
import { GatewayConfig } from '../config';
import type { Connection } from '../streams/connection';
import { Frame } from '../streams/frame';

/** Streams per gateway, and those of one workspace, or of the operator. */
const maxTails = 200;
const maxTailsEach = 20;
const liveTimeoutMs = 5_000;

export interface TailRequest {
  botId: string;
  request: TracedRequest;
  operation: Operation;
}

/** Streams of log lines. A reader that is too slow is disconnected: it can list what it missed. */
@Injectable()
export class LogTailsService implements OnModuleDestroy {
  private readonly open = new Set<Connection>();
  /** Streams by tenant, including those that are opening. */
  private readonly counts = new KeyCounts();
  private isStopping = false;

  constructor(
    private readonly client: ParleyClient,
    private readonly identities: IdentityService,
    private readonly config: GatewayConfig,
    readiness: Readiness,
  ) {
    readiness.onStop(() => this.stop());
  }

  onModuleDestroy(): void {
    this.stop();
  }

  /** @param connect returns undefined when the client has disconnected */
  async follow(tail: TailRequest, connect: () => Connection | undefined): Promise<void> {
    const leave = this.enter(tenantOf(await this.authorize(tail)));
    try {
      const connection = await this.stream(tail, connect);
      if (connection) connection.onGone(leave);
      else leave();
    } catch (error) {
      leave();
      throw error;
    }
  }

  private enter(tenant: string): () => void {
    const count = [...this.counts.values()].reduce((sum, each) => sum + each, 0);
    if (this.isStopping || count >= maxTails) throw refused(`This gateway streams the logs of ${maxTails} readers`);
    if (this.counts.count(tenant) >= maxTailsEach)
      throw refused(`This gateway streams the logs of ${maxTailsEach} readers of a workspace`);
    this.counts.add(tenant, 1);
    return () => this.counts.add(tenant, -1);
  }

  private async stream(tail: TailRequest, connect: () => Connection | undefined): Promise<Connection | undefined> {
    const early: Frame[] = [];
    let write = (frame: Frame): void => {
      early.push(frame);
    };
    let count = 0;
    const subscription = this.client.subscribe(logLines, tail.botId, ({ lines }) => {
      for (const line of lines) write(new Frame((count += 1), JSON.stringify(line)));
    });
    let connection: Connection | undefined;
    try {
      await withDeadline(logLines.subject, subscription.live, liveTimeoutMs);
      connection = connect();
    } finally {
      if (!connection) subscription.stop();
    }
    if (!connection) return undefined;
    this.open.add(connection);
    const pings = setInterval(() => void this.check(tail, connection), tailPingMs).unref();
    connection.onGone(() => {
      clearInterval(pings);
      subscription.stop();
      this.open.delete(connection);
    });
    write = (frame) => this.write(connection, frame);
    early.forEach(write);
    return connection;
  }

  private write(connection: Connection, frame: Frame): void {
    if (connection.unsentBytes > this.config.listenMaxUnsentBytes) connection.destroy();
    else connection.write(frame);
  }

  /** Access may have ended since the stream began. */
  private async check(tail: TailRequest, connection: Connection): Promise<void> {
    connection.ping();
    try {
      await this.authorize(tail);
    } catch {
      // The reader gets the reason when it connects again.
      connection.end(false);
    }
  }

  private async authorize({ botId, request, operation }: TailRequest): Promise<Caller> {
    const caller = await this.identities.identify(request, operation);
    if (operation.access !== operator) await this.client.call(botVisibility.require, caller, { botId });
    else if (!isUUID(botId)) throw notFound('bot', botId);
    return caller;
  }

  private stop(): void {
    this.isStopping = true;
    for (const connection of this.open) connection.end(true);
  }
}

function refused(limit: string): ApiError {
  return new ApiError('RateLimited', `${limit} at most. Retry after 5 s.`, { retryAfterSeconds: 5 });
}
