import { ChatConfig } from './config';
import { EventsService } from './events/events.service';
import { ExpiredStatesService } from './states/expired-states.service';
import { EndedWorkflowsService } from './workflows/ended-workflows.service';

const none = {} as never;
const database = { transaction: (work: (tx: object) => Promise<unknown>) => work({}) } as never;
const config = new ChatConfig();

/** Rows that a batch finds: as many as there are, and no more than it asks for. */
const batchOf = (count: number) => (_tx: unknown, limit: number) =>
  Promise.resolve(
    Array.from({ length: Math.min(count, limit) }, () => ({
      conversation_id: null,
      created_at: new Date(0),
      updated_at: new Date(0),
    })),
  );
const nothing = () => Promise.resolve();

const sweeps: Record<string, (count: number) => Promise<boolean>> = {
  'events that are due': (count) => {
    const releaseDueEvents = (_tx: unknown, limit: number) => Promise.resolve(Math.min(count, limit));
    return new EventsService(database, none, { releaseDueEvents } as never, none, config).releaseDue();
  },
  'states that have expired': (count) => {
    const states = { deleteExpiredStates: batchOf(count) };
    return new ExpiredStatesService(
      database,
      states as never,
      { insertEvents: nothing } as never,
      config,
    ).deleteExpired();
  },
  'workflows that are late': (count) => {
    const events = { createUpdate: nothing, createUpdateOfParent: nothing } as never;
    const workflows = { timeOutWorkflows: batchOf(count) } as never;
    const continuations = { cancelScheduled: nothing } as never;
    const columns = { announceOutcome: nothing } as never;
    return new EndedWorkflowsService(database, workflows, events, continuations, columns, config).timeOut();
  },
};

it.each(Object.keys(sweeps))('goes on at once after a full batch of %s, and rests after the last one', async (rows) => {
  expect(await sweeps[rows]!(100_000)).toBe(true);
  expect(await sweeps[rows]!(1)).toBe(false);
  expect(await sweeps[rows]!(0)).toBe(false);
});
