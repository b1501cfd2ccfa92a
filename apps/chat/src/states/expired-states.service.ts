import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '@parley/persistence/database';
import { WhenDue } from '@parley/work-queue/worker';
import { ChatConfig } from '../config';
import { EventsRepository } from '../events/events.repository';
import { type StateEntity, toState } from './state.entity';
import { expiredStates, type StateKey, StatesRepository } from './states.repository';

const statesAtOnce = 100;

/**
 * Deletes expired states and creates their `state_expired` events in the same transaction: exactly one event per state,
 * even if several processes sweep or one is killed.
 */
@Injectable()
export class ExpiredStatesService {
  constructor(
    private readonly database: Database,
    private readonly states: StatesRepository,
    private readonly events: EventsRepository,
    private readonly config: ChatConfig,
  ) {}

  /** Deletes the state at once, so that a new one can be stored under its key. */
  async deleteIfExpired(key: StateKey): Promise<void> {
    await this.database.transaction(async (tx) =>
      this.createEvents(tx, await this.states.deleteStateIfExpired(tx, key)),
    );
  }

  @WhenDue<ExpiredStatesService>({
    name: 'chat.expiredStates',
    rows: expiredStates,
    everyMs: ({ config }) => config.sweepIntervalMs,
  })
  deleteExpired(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const expired = await this.states.deleteExpiredStates(tx, statesAtOnce);
      await this.createEvents(tx, expired);
      return expired.length === statesAtOnce;
    });
  }

  private async createEvents(tx: Transaction, expired: StateEntity[]): Promise<void> {
    if (expired.length === 0) return;
    await this.events.insertEvents(
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
