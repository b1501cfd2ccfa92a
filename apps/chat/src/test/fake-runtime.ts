import { deliverEvents, type EventsPending, type PendingEvent } from '@parley/contracts/chat/deliveries';
import { eventsSettled, type SettledEvent } from '@parley/contracts/runtime/deliveries';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { waitFor } from '@parley/testing/wait-for';
import type { ChatBot, ChatService } from './chat-service';

type Settlement = Pick<SettledEvent, 'status'> & Partial<SettledEvent>;

/** Takes the place of the runtime on the bus: receives the announcements and settles events. */
export interface FakeRuntime {
  announcements: EventsPending[];
  /** Announced events of the bot, oldest first, without that of `newCalledBot`. */
  announcedOf(botId: string): PendingEvent[];
  /** Waits until this event was announced so many times. */
  untilAnnounced(botId: string, eventId: string, times?: number): Promise<PendingEvent>;
  /** Announces the outcome, and waits until chat has consumed it. */
  settle(botId: string, eventIds: string | string[], outcome?: Settlement, times?: number): Promise<void>;
}

const firstType = 'first';
const isOfTest = ({ type }: PendingEvent) => type !== firstType;

/** Bot with a server, once chat knows that it is called. */
export async function newCalledBot(
  api: ChatService,
  runtime: FakeRuntime,
  definition: Parameters<ChatService['newBot']>[0] = {},
): Promise<ChatBot> {
  const bot = await api.newBot({ url: 'http://127.0.0.1:9', ...definition });
  await bot.client.createEvent({ type: firstType, payload: {} });
  await waitFor(() => runtime.announcements.some(({ botId }) => botId === bot.id));
  return bot;
}

export async function startFakeRuntime(api: ChatService): Promise<FakeRuntime> {
  const { events } = api.apps.at(-1)!.get<Platform>(platformToken, { strict: false });
  const announcements: EventsPending[] = [];
  await events.consume({
    name: deliverEvents.name,
    subject: deliverEvents.event.subject,
    concurrency: 1,
    maxDeliveries: 1,
    handle: ({ event }) => Promise.resolve(void announcements.push(event.data as EventsPending)),
    deadLetter: () => Promise.resolve(),
  });
  const announcedOf = (botId: string) =>
    announcements.filter((each) => each.botId === botId).flatMap((each) => each.events.filter(isOfTest));
  return {
    announcements,
    announcedOf,
    untilAnnounced: async (botId, eventId, times = 1) => {
      const found = await waitFor(
        () => announcedOf(botId).filter(({ id }) => id === eventId),
        (all) => all.length >= times,
      );
      return found[0]!;
    },
    settle: async (botId, eventIds, outcome = { status: 'processed' }, times = 1) => {
      const settled = [eventIds]
        .flat()
        .map((eventId) => ({ botId, eventId, replays: 0, failureReason: null, ...outcome }));
      for (let count = 0; count < times; count += 1)
        await events.publish([{ id: newId('outbox'), subject: eventsSettled.subject, data: { events: settled } }]);
      const underWay = () => api.sql(`SELECT key FROM events.work WHERE queue = 'chat.settleEvents'`);
      await waitFor(underWay, (rows) => rows.length === 0);
    },
  };
}
