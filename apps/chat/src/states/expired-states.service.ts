import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import { Database, type Sql } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { EventsRepository } from '../events/events.repository';
import { type StateEntity, toState } from './state.entity';
import { type StatePlace, StatesRepository } from './states.repository';

const batchSize = 100;

/**
 * Deletes expired states and creates their `state_expired` events in the same transaction: exactly one event per state,
 * even if several processes sweep or one is killed.
 */
@Injectable()
export class ExpiredStatesService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(
    private readonly database: Database,
    private readonly states: StatesRepository,
    private readonly events: EventsRepository,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    this.loop = new PollingWorker({ name: 'chat.states', intervalMs, logger }, () => this.sweep());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** Deletes one expired state at once, so that a new one can be stored under its key. */
  async remove(place: StatePlace): Promise<void> {
    await this.database.transaction(async (tx) => this.tell(tx, await this.states.takeExpired(tx, place)));
  }

  private sweep(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const expired = await this.states.takeAllExpired(tx, batchSize);
      await this.tell(tx, expired);
      return expired.length === batchSize;
    });
  }

  private async tell(tx: Sql, expired: StateEntity[]): Promise<void> {
    if (expired.length === 0) return;
    await this.events.add(
      tx,
      expired.map((state) => ({
        bot_id: state.bot_id,
        type: 'state_expired',
        payload: { state: toState({}, state) },
        conversation_id: state.type === 'conversation' ? state.owner_id : null,
        user_id: state.type === 'user' ? state.owner_id : null,
        workflow_id: state.type === 'workflow' ? state.owner_id : null,
      })),
    );
  }
}
