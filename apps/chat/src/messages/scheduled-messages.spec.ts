import { randomUUID } from 'node:crypto';
import type { Client } from '@botpress/client';
import { ParleyClient } from '@parley/transport/parley-client';
import { type Signal, signalChannel } from '@parley/contracts/chat/signals';
import { joinService } from '@parley/testing/joined-service';
import { waitFor } from '@parley/testing/wait-for';
import { ChatConfig } from '../config';
import { ChatModule } from '../chat.module';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

type Text = Parameters<Client['createMessage']>[0];

let api: ChatService;
let bot: ChatBot;
let client: Client;

beforeAll(async () => {
  api = await startChat();
  bot = await api.newBot();
  ({ client } = bot);
});

afterAll(() => api?.stop());

async function newSender() {
  const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
  const { user } = await client.createUser({ tags: {} });
  return { conversationId: conversation.id, userId: user.id };
}

type Sender = Awaited<ReturnType<typeof newSender>>;

async function schedule(sender: Sender, delay: number, changes: Partial<Text> = {}) {
  const content = { type: 'text', payload: { text: 'later' }, tags: {} };
  return (await client.createMessage({ ...sender, ...content, schedule: { delay }, ...changes })).message;
}

async function listed({ conversationId }: Sender) {
  return (await client.listMessages({ conversationId, pageSize: 200 })).messages;
}

async function eventOf(messageId: string) {
  const rows = await api.sql<{ status: string; failure_reason: string | null }>(
    'SELECT status, failure_reason FROM chat.event WHERE message_id = $1',
    [messageId],
  );
  return rows.map(({ status, failure_reason }) => (failure_reason === null ? status : `${status}: ${failure_reason}`));
}

function makeDue(...ids: string[]) {
  return api.sql('UPDATE chat.scheduled_message SET due_at = now() WHERE id = ANY($1)', [ids]);
}

const hour = 3_600_000;

describe('a scheduled message', () => {
  it('finds a scheduled message by id, and omits it from lists and counts', async () => {
    const sender = await newSender();

    const message = await schedule(sender, hour, { tags: { a: 'b' } });

    expect(message).toMatchObject({ ...sender, payload: { text: 'later' }, tags: { a: 'b' }, direction: 'incoming' });
    expect((await client.getMessage({ id: message.id })).message).toEqual(message);
    expect(await listed(sender)).toEqual([]);
    expect((await client.listMessages({ tags: { a: 'b' } })).messages).toEqual([]);
    expect((await client.getConversation({ id: sender.conversationId })).conversation.messageCount).toBe(0);
    expect((await client.listParticipants({ id: sender.conversationId })).participants).toEqual([]);
    expect(await eventOf(message.id)).toEqual(['scheduled']);
  });

  it('writes a scheduled message when it is due, with the same id', async () => {
    const sender = await newSender();
    const heard: Signal[] = [];
    const bus = api.apps.at(-1)!.get(ParleyClient, { strict: false });
    await bus.subscribe(signalChannel, sender.conversationId, (signal) => void heard.push(signal)).live;
    const dueAt = new Date(Date.now() + 500);

    const { id } = await schedule(sender, 0, {
      schedule: { dateTime: dueAt.toISOString() },
      tags: { a: sender.userId },
    });
    const [written] = await waitFor(
      () => listed(sender),
      (messages) => messages.length > 0,
    );

    expect(written).toMatchObject({ id, payload: { text: 'later' }, tags: { a: sender.userId } });
    expect(Date.parse(written!.createdAt)).toBeGreaterThanOrEqual(dueAt.getTime());
    expect((await client.getMessage({ id })).message).toEqual(written);
    expect((await client.listMessages({ tags: { a: sender.userId } })).messages).toEqual([written]);
    expect((await client.getConversation({ id: sender.conversationId })).conversation.messageCount).toBe(1);
    expect((await client.listParticipants({ id: sender.conversationId })).participants).toHaveLength(1);
    expect(await eventOf(id)).toEqual(['pending']);
    await waitFor(() => heard.length === 2);
    const [joined, created] = heard.map(({ frame }) => JSON.parse(frame!));
    expect([joined.data.participantId, created.data.id]).toEqual([sender.userId, id]);
  });

  it('writes a scheduled message on time even with a long sweep interval', async () => {
    const drowsy = await startChat({ sweepIntervalMs: 600_000 });
    try {
      ({ client } = await drowsy.newBot());
      const sender = await newSender();
      await schedule(sender, hour);
      const { id } = await schedule(sender, 100);

      const [written] = await waitFor(
        () => listed(sender),
        (messages) => messages.length > 0,
      );

      expect(written!.id).toBe(id);
    } finally {
      ({ client } = bot);
      await drowsy.stop();
    }
  });

  it('writes a scheduled message of an integration even if its author was removed meanwhile', async () => {
    const { id: conversationId } = (await bot.asTeam.createConversation({ channel: 'group', tags: {} })).conversation;
    const { id: userId } = (await client.createUser({ tags: {} })).user;
    await client.addParticipant({ id: conversationId, userId });
    const input = { conversationId, userId, type: 'text', payload: {}, tags: {}, schedule: { delay: hour } };

    const { message } = await bot.asTeam.createMessage(input);
    await client.removeParticipant({ id: conversationId, userId });
    await makeDue(message.id);

    const messages = await waitFor(
      () => listed({ conversationId, userId }),
      (found) => found.length > 0,
    );
    expect(messages.map(({ id }) => id)).toEqual([message.id]);
  });

  it('writes no event for a scheduled message of the bot', async () => {
    const sender = await newSender();

    const { id } = await schedule({ ...sender, userId: bot.id }, hour);
    const waiting = await client.listEvents({ messageId: id });
    await makeDue(id);
    await waitFor(
      () => listed(sender),
      (messages) => messages.length > 0,
    );

    expect(waiting.events.map(({ status }) => status)).toEqual(['scheduled']);
    expect((await client.listEvents({ messageId: id })).events).toEqual([]);
    expect((await failure(client.getEvent({ id: waiting.events[0]!.id }))).type).toBe('ResourceNotFound');
  });

  it('writes a scheduled message at once if its time is in the past', async () => {
    const sender = await newSender();

    const { id } = await schedule(sender, 0, { schedule: { dateTime: '2026-01-31T12:00:00.000Z' } });

    expect((await listed(sender)).map((message) => message.id)).toEqual([id]);
  });

  it('updates a scheduled message until it is written', async () => {
    const sender = await newSender();
    const { id } = await schedule(sender, hour, { tags: { a: '1' } });

    await client.updateMessage({ id, payload: { text: 'changed' }, tags: { a: null, b: sender.userId } });
    await makeDue(id);
    const [written] = await waitFor(
      () => listed(sender),
      (messages) => messages.length > 0,
    );

    expect(written).toMatchObject({ id, payload: { text: 'changed' }, tags: { b: sender.userId } });
    expect((await client.listMessages({ tags: { b: sender.userId } })).messages).toEqual([written]);
  });

  it('does not write a scheduled message that was deleted before', async () => {
    const sender = await newSender();
    const { id } = await schedule(sender, hour);

    await client.deleteMessage({ id });
    await makeDue(id);
    await schedule(sender, 1);
    await waitFor(
      () => listed(sender),
      (messages) => messages.length > 0,
    );

    expect((await listed(sender)).map((message) => message.id)).not.toContain(id);
    expect((await failure(client.getMessage({ id }))).type).toBe('ResourceNotFound');
    expect((await failure(client.deleteMessage({ id }))).type).toBe('ResourceNotFound');
    expect(await eventOf(id)).toEqual(['canceled']);
  });

  it('finds a scheduled message by its tags before it is written', async () => {
    const sender = await newSender();
    const tags = { external: randomUUID() };
    const later = { ...sender, type: 'text', payload: { text: 'x' }, tags, schedule: { delay: hour } };

    const first = await client.getOrCreateMessage(later);
    const second = await client.getOrCreateMessage({ ...later, schedule: undefined });

    expect([first.meta.created, second.meta.created]).toEqual([true, false]);
    expect(second.message).toEqual(first.message);
  });

  it('fails a scheduled message if its conversation or its author was deleted meanwhile', async () => {
    const [withoutUser, withoutConversation] = [await newSender(), await newSender()];
    const orphan = await schedule(withoutUser, hour);
    const homeless = await schedule(withoutConversation, hour);
    await client.deleteUser({ id: withoutUser.userId });
    await client.deleteConversation({ id: withoutConversation.conversationId });

    await makeDue(orphan.id, homeless.id);

    await waitFor(
      () => eventOf(orphan.id),
      ([status]) => status !== 'scheduled',
    );
    expect((await eventOf(orphan.id))[0]).toMatch(/^failed: userId "user_.*" not found\.$/);
    // The event may have been erased with the conversation.
    await waitFor(
      () => eventOf(homeless.id),
      ([status]) => status !== 'scheduled',
    );
    expect(await listed(withoutUser)).toEqual([]);
  });

  it.each<[string, object, RegExp]>([
    ['no time', {}, /^schedule must have either dateTime or delay/],
    ['two times', { delay: 1, dateTime: '2026-01-31T12:00:00.000Z' }, /^schedule must have either/],
    ['a time in 100 years', { dateTime: '2126-01-31T12:00:00.000Z' }, /^schedule must be at most a year ahead/],
  ])('rejects a scheduled message with %s', async (_case, time, message) => {
    const sender = await newSender();

    expect(await failure(schedule(sender, 0, { schedule: time }))).toEqual({
      type: 'InvalidPayload',
      message: expect.stringMatching(message),
    });
  });

  it('rejects a scheduled message for an unknown user or conversation', async () => {
    const sender = await newSender();
    const nobody = `user_${'0'.repeat(26)}`;

    const refusals = [
      schedule({ ...sender, userId: nobody }, hour),
      schedule({ ...sender, conversationId: nobody }, hour),
    ];

    expect(await Promise.all(refusals.map(failure))).toEqual([
      { type: 'ReferenceNotFound', message: expect.stringMatching(/^userId/) },
      { type: 'ReferenceNotFound', message: expect.stringMatching(/^conversationId/) },
    ]);
  });
});

describe('many scheduled messages', () => {
  it('writes each of many scheduled messages once in several processes', async () => {
    const config = Object.assign(new ChatConfig(), { ...api.settings, sweepIntervalMs: 100 });
    const others = await Promise.all(
      ['a', 'b'].map((instance) => joinService(api, instance, (platform) => ChatModule.register(config, platform))),
    );
    const sender = await newSender();

    const scheduled = await Promise.all(Array.from({ length: 120 }, () => schedule(sender, hour)));
    await api.sql(
      `UPDATE chat.scheduled_message SET due_at = now() - array_position($1, id) * interval '1 second' WHERE id = ANY($1)`,
      [scheduled.map(({ id }) => id)],
    );
    await waitFor(
      () => listed(sender),
      (messages) => messages.length === 120,
      30_000,
    );

    await Promise.all(others.map((other) => other.stop()));
    const messages = await listed(sender);
    expect(new Set(messages.map(({ id }) => id))).toEqual(new Set(scheduled.map(({ id }) => id)));
    expect(new Set(messages.map(({ createdAt }) => createdAt)).size).toBe(120);
    const [left] = await api.sql<{ left: number }>(
      `SELECT count(*)::int AS left FROM chat.scheduled_message WHERE conversation_id = $1`,
      [sender.conversationId],
    );
    expect(left).toEqual({ left: 0 });
    expect(new Set((await Promise.all(messages.map(({ id }) => eventOf(id)))).flat())).toEqual(new Set(['pending']));
  });
});
