import type { Client } from '@botpress/client';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatService, startChat } from '../test/chat-service';
import { type FakeRuntime, newCalledBot, startFakeRuntime } from '../test/fake-runtime';

type Options = Partial<Parameters<Client['createWorkflow']>[0]>;
type Changes = Omit<Parameters<Client['updateWorkflow']>[0], 'id'>;

interface Update {
  id: string;
  status: string;
  payload: { type: string; workflow: { id: string; status: string }; conversation?: { id: string } };
}

let api: ChatService;
let runtime: FakeRuntime;
let botId: string;
let client: Client;

beforeAll(async () => {
  api = await startChat();
  runtime = await startFakeRuntime(api);
  ({ id: botId, client } = await newCalledBot(api, runtime));
});

afterAll(() => api?.stop());

async function newWorkflow(options: Options = {}): Promise<string> {
  return (await client.createWorkflow({ name: 'sync', status: 'listening', ...options })).workflow.id;
}

const update = (id: string, changes: Changes) => client.updateWorkflow({ id, ...changes });
const settle = (...ids: string[]) => runtime.settle(botId, ids);

/** Workflow updates of the workflow, oldest first. */
async function updatesOf(workflowId: string): Promise<Update[]> {
  const { events } = await client.listEvents({ workflowId, type: 'workflow_update' });
  return (events as unknown as Update[]).sort((a, b) => (a.id < b.id ? -1 : 1));
}

const typesOf = async (workflowId: string) => (await updatesOf(workflowId)).map(({ payload }) => payload.type);

/** Newest update, when it is pending and announced. */
async function newestOf(workflowId: string, count: number): Promise<Update> {
  const updates = await waitFor(
    () => updatesOf(workflowId),
    (all) => all.length === count && all.at(-1)!.status === 'pending',
  );
  await runtime.untilAnnounced(botId, updates.at(-1)!.id);
  return updates.at(-1)!;
}

async function newEvent(options: Partial<Parameters<Client['createEvent']>[0]> = {}): Promise<string> {
  return (await client.createEvent({ type: 'happened', payload: {}, ...options })).event.id;
}

describe('a workflow in progress', () => {
  it('continues a workflow each time the bot has handled the bound event, until it ends', async () => {
    const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
    const id = await newWorkflow({ status: 'pending', conversationId: conversation.id });

    for (const count of [1, 2, 3]) {
      const event = await newestOf(id, count);
      await update(id, { status: 'in_progress', eventId: event.id });
      await settle(event.id);
    }
    const last = await newestOf(id, 4);
    await update(id, { status: 'completed' });
    await settle(last.id);

    const updates = await updatesOf(id);
    expect(updates.map(({ payload }) => payload.type)).toEqual([
      'workflow_started',
      'workflow_continued',
      'workflow_continued',
      'workflow_continued',
    ]);
    expect(updates[3]!.payload).toMatchObject({
      workflow: { id, status: 'in_progress' },
      conversation: { id: conversation.id },
    });
  });

  it('continues a workflow when the bot handles a continuation without binding the workflow to it', async () => {
    const id = await newWorkflow({ status: 'pending' });
    const started = await newestOf(id, 1);
    await update(id, { status: 'in_progress', eventId: started.id });
    await settle(started.id);

    await settle((await newestOf(id, 2)).id);
    await settle((await newestOf(id, 3)).id);

    expect(await typesOf(id)).toHaveLength(4);
  });

  it('continues a workflow at most once a second if the bot handles continuations faster', async () => {
    const id = await newWorkflow({ status: 'in_progress', eventId: await newEvent() });
    const bound = (await client.listEvents({ type: 'happened' })).events[0]!;
    await settle(bound.id);
    const first = await newestOf(id, 1);
    // As if it was handled right after it was created, however slow this test is.
    await api.sql('UPDATE chat.event SET created_at = now() WHERE id = $1', [first.id]);

    await settle(first.id);

    const [row] = await api.sql<{ pause: number }>(
      `SELECT (extract(epoch FROM second.due_at - first.created_at) * 1000)::int AS pause
       FROM chat.event first JOIN chat.event second USING (workflow_id)
       WHERE first.id = $1 AND second.id > first.id`,
      [first.id],
    );
    expect(row).toEqual({ pause: 1_000 });
    await newestOf(id, 2);
  });

  it('continues a workflow once although its event is settled twice and then replayed', async () => {
    const eventId = await newEvent();
    const id = await newWorkflow({ status: 'in_progress', eventId });
    await runtime.settle(botId, [eventId, eventId], { status: 'processed' }, 2);

    await api.send(`POST /operator/chat/bots/${botId}/events/replay`, {
      headers: { authorization: `Bearer ${api.operatorToken}` },
      json: { eventId },
    });
    await runtime.untilAnnounced(botId, eventId, 2);
    await runtime.settle(botId, eventId, { status: 'processed', replays: 1 });

    expect(await typesOf(id)).toEqual(['workflow_continued']);
  });

  it.each(['failed', 'ignored'] as const)(
    'keeps a workflow unchanged when its event %s, until a replay succeeds',
    async (status) => {
      const eventId = await newEvent();
      const id = await newWorkflow({ status: 'in_progress', eventId });

      await runtime.settle(botId, eventId, { status, failureReason: 'Because.' });

      expect(await typesOf(id)).toEqual([]);
      expect((await client.getWorkflow({ id })).workflow.status).toBe('in_progress');

      await api.send(`POST /operator/chat/bots/${botId}/events/replay`, {
        headers: { authorization: `Bearer ${api.operatorToken}` },
        json: { eventId },
      });
      await runtime.settle(botId, eventId, { status: 'processed', replays: 1 });
      expect(await typesOf(id)).toEqual(['workflow_continued']);
    },
  );

  it('does not continue a workflow for another event that belongs to it', async () => {
    const id = await newWorkflow({ status: 'in_progress', eventId: await newEvent() });

    await settle(await newEvent({ workflowId: id }));

    expect(await typesOf(id)).toEqual([]);
  });

  it('continues a workflow that is bound to an event that the bot has handled before', async () => {
    const eventId = await newEvent();
    const id = await newWorkflow();
    await settle(eventId);

    await update(id, { status: 'in_progress', eventId });
    const created = await newWorkflow({ status: 'in_progress', eventId });

    expect([await typesOf(id), await typesOf(created)]).toEqual([['workflow_continued'], ['workflow_continued']]);
    await newestOf(id, 1);
  });

  it.each<[string, Changes]>([
    ['falls asleep', { status: 'listening' }],
    ['ends', { status: 'completed' }],
  ])('does not continue a workflow that %s before the continuation is due', async (_case, changes) => {
    const eventId = await newEvent();
    await settle(eventId);
    const id = await newWorkflow({ status: 'in_progress', eventId });
    await api.sql(`UPDATE chat.event SET due_at = now() + interval '1 hour' WHERE workflow_id = $1`, [id]);

    await update(id, changes);

    expect((await updatesOf(id)).map(({ status }) => status)).toEqual(['canceled']);
  });

  it('continues a workflow that is bound to another event that the bot has handled, without a change of its status', async () => {
    const [bound, handled] = [await newEvent(), await newEvent()];
    await settle(handled);
    const id = await newWorkflow({ status: 'in_progress', eventId: bound });

    await update(id, { eventId: handled });

    await newestOf(id, 1);
    expect(await typesOf(id)).toEqual(['workflow_continued']);
  });

  it('does not continue a workflow that times out or is deleted before the continuation is due', async () => {
    const eventId = await newEvent();
    await settle(eventId);
    const [late, deleted] = [
      await newWorkflow({ status: 'in_progress', eventId }),
      await newWorkflow({ status: 'in_progress', eventId }),
    ];
    await api.sql(`UPDATE chat.event SET due_at = now() + interval '1 hour' WHERE workflow_id = ANY ($1)`, [
      [late, deleted],
    ]);

    await client.deleteWorkflow({ id: deleted });
    await api.sql(`UPDATE chat.workflow SET timeout_at = now() - interval '1 second' WHERE id = $1`, [late]);

    const updates = await waitFor(
      () => updatesOf(late),
      (all) => all.length === 2,
    );
    expect(updates.map(({ status, payload }) => [status, payload.type])).toEqual([
      ['canceled', 'workflow_continued'],
      ['pending', 'workflow_timedout'],
    ]);
    expect((await api.sql('SELECT status FROM chat.event WHERE workflow_id = $1', [deleted]))[0]).toEqual({
      status: 'canceled',
    });
  });

  it('continues a workflow of a deleted user', async () => {
    const { user } = await client.createUser({ tags: {} });
    const eventId = await newEvent();
    const id = await newWorkflow({ status: 'in_progress', eventId, userId: user.id });
    await client.deleteUser({ id: user.id });

    await settle(eventId);

    const announced = await runtime.untilAnnounced(botId, (await newestOf(id, 1)).id);
    expect(announced).toEqual({ id: announced.id, type: 'workflow_update', workflowId: id });
  });
});

describe('a listening workflow', () => {
  it('wakes a listening workflow by an event that was created for it', async () => {
    const id = await newWorkflow();

    await settle(await newEvent({ workflowId: id }));

    expect((await newestOf(id, 1)).payload).toMatchObject({
      type: 'workflow_continued',
      workflow: { id, status: 'listening' },
    });
  });

  it('wakes a listening workflow when an event scheduled for it was delivered', async () => {
    const id = await newWorkflow();
    const eventId = await newEvent({ workflowId: id, schedule: { delay: 50 } });
    await runtime.untilAnnounced(botId, eventId);
    expect(await typesOf(id)).toEqual([]);

    await settle(eventId);

    expect(await typesOf(id)).toEqual(['workflow_continued']);
  });

  it('does not wake a workflow by its own continuation, by an unrelated event or by a failed one', async () => {
    const id = await newWorkflow();
    await settle(await newEvent({ workflowId: id }));

    await settle((await newestOf(id, 1)).id);
    await settle(await newEvent());
    await runtime.settle(botId, await newEvent({ workflowId: id }), { status: 'failed' });

    expect(await typesOf(id)).toEqual(['workflow_continued']);
  });

  it('does not wake a workflow by the event in which it fell asleep', async () => {
    const id = await newWorkflow({ status: 'pending' });
    const started = await newestOf(id, 1);
    await update(id, { status: 'in_progress', eventId: started.id });
    await update(id, { status: 'listening' });

    await settle(started.id);

    expect(await typesOf(id)).toEqual(['workflow_started']);
  });

  it('continues a workflow once when the bot binds it to the event that wakes it', async () => {
    const id = await newWorkflow();
    const eventId = await newEvent({ workflowId: id });
    await update(id, { status: 'in_progress', eventId });

    await settle(eventId);

    expect(await typesOf(id)).toEqual(['workflow_continued']);
  });

  it('does not wake a workflow of another bot', async () => {
    const other = await api.newBot();
    const id = await newWorkflow();
    const { event } = await other.client.createEvent({ type: 'x', payload: {} });
    await api.sql('UPDATE chat.event SET workflow_id = $2 WHERE id = $1', [event.id, id]);

    await runtime.settle(other.id, event.id);

    expect(await typesOf(id)).toEqual([]);
  });

  it('wakes a workflow when its child has ended and the bot has handled that', async () => {
    const parent = await newWorkflow();
    const child = await newWorkflow({ parentWorkflowId: parent, status: 'in_progress', eventId: await newEvent() });
    await update(child, { status: 'completed' });

    const finished = await newestOf(parent, 1);
    await settle(finished.id);

    expect(await typesOf(parent)).toEqual(['child_workflow_finished', 'workflow_continued']);
    expect(await typesOf(child)).toEqual([]);
  });

  it('does not wake a workflow when one of its states expires', async () => {
    const id = await newWorkflow();
    const eventId = await newEvent({ workflowId: id, type: 'state_expired' });

    await settle(eventId);

    expect(await typesOf(id)).toEqual([]);
  });
});
