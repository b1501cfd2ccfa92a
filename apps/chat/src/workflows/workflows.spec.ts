import { randomUUID } from 'node:crypto';
import type { Client } from '@botpress/client';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatService, failure, startChat } from '../test/chat-service';

type Workflow = Awaited<ReturnType<Client['getWorkflow']>>['workflow'];
type Options = Partial<Parameters<Client['createWorkflow']>[0]>;
type Update = Omit<Parameters<Client['updateWorkflow']>[0], 'id'>;

let api: ChatService;
let botId: string;
let client: Client;
let asTeam: Client;
let eventId: string;

beforeAll(async () => {
  api = await startChat();
  ({ id: botId, client, asTeam } = await api.newBot());
  eventId = await newEvent();
});

afterAll(() => api?.stop());

async function newEvent(): Promise<string> {
  const id = `evt_${'0'.repeat(26)}`;
  await api.sql(
    `INSERT INTO chat.event (bot_id, id, type, payload, status, created_at) VALUES ($1, $2, 'x', '{}', 'pending', now())`,
    [botId, id],
  );
  return id;
}

async function newWorkflow(options: Options = {}, as = client): Promise<Workflow> {
  return (await as.createWorkflow({ name: 'checkout', status: 'listening', ...options })).workflow;
}

const newUser = async (as = client) => (await as.createUser({ tags: {} })).user;
const newConversation = async (as = client) =>
  (await as.createConversation({ channel: as === client ? 'channel' : 'group', tags: {} })).conversation;
const currentOf = async (id: string) => (await client.getConversation({ id })).conversation.currentWorkflowId;
const update = (id: string, changes: Update) => client.updateWorkflow({ id, ...changes });
const end = (id: string, status: 'completed' | 'failed' | 'cancelled' = 'completed') => update(id, { status });
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const letTimeOut = (id: string) =>
  api.sql(`UPDATE chat.workflow SET timeout_at = now() - interval '1 second' WHERE id = $1`, [id]);

interface WorkflowUpdate {
  type: string;
  workflow: Workflow;
  conversation?: { id: string };
  user?: { id: string };
  childWorkflow?: Workflow;
}

async function updatesOf(id: string): Promise<WorkflowUpdate[]> {
  const events = await api.sql<{ payload: WorkflowUpdate; status: string; type: string }>(
    'SELECT * FROM chat.event WHERE workflow_id = $1 ORDER BY id',
    [id],
  );
  for (const event of events) expect(event).toMatchObject({ type: 'workflow_update', status: 'pending' });
  return events.map(({ payload }) => payload);
}

describe('createWorkflow', () => {
  it('returns all fields of a new workflow', async () => {
    const [user, conversation, parent] = await Promise.all([newUser(), newConversation(), newWorkflow()]);

    const workflow = await newWorkflow({
      input: { cups: 2 },
      tags: { kind: 'order', none: '' },
      conversationId: conversation.id,
      userId: user.id,
      parentWorkflowId: parent.id,
      timeoutAt: '2999-01-31T12:00:00+02:00',
    });

    expect(workflow).toEqual({
      id: expect.stringMatching(/^wrkflow_[0-9A-HJKMNP-TV-Z]{26}$/),
      name: 'checkout',
      status: 'listening',
      input: { cups: 2 },
      output: {},
      conversationId: conversation.id,
      userId: user.id,
      parentWorkflowId: parent.id,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: workflow.createdAt,
      timeoutAt: '2999-01-31T10:00:00.000Z',
      tags: { kind: 'order' },
    });
    expect((await client.getWorkflow({ id: workflow.id })).workflow).toEqual(workflow);
  });

  it('sets the timeout of a workflow to one day by default', async () => {
    const before = Date.now();

    const { timeoutAt } = await newWorkflow();

    expect(Date.parse(timeoutAt)).toBeGreaterThanOrEqual(before + 86_400_000);
    expect(Date.parse(timeoutAt)).toBeLessThanOrEqual(Date.now() + 86_400_000);
  });

  it('sends workflow_started for a pending workflow, with conversation and user', async () => {
    const [user, conversation] = await Promise.all([newUser(), newConversation()]);

    const workflow = await newWorkflow({ status: 'pending', userId: user.id, conversationId: conversation.id });

    expect(await updatesOf(workflow.id)).toEqual([
      {
        type: 'workflow_started',
        workflow,
        conversation: { ...conversation, currentWorkflowId: workflow.id },
        user: { ...user, attributes: {} },
      },
    ]);
  });

  it.each(['listening', 'in_progress'] as const)(
    'sends no event for a new workflow with the status %s',
    async (status) => {
      const workflow = await newWorkflow({ status, eventId });

      expect([workflow.status, await updatesOf(workflow.id)]).toEqual([status, []]);
    },
  );

  it.each<[keyof Options, string]>([
    ['conversationId', 'a conversation'],
    ['userId', 'a user'],
    ['parentWorkflowId', 'a workflow'],
    ['eventId', 'an event'],
  ])('rejects a workflow with an unknown %s', async (field, kind) => {
    const id = `none_${'0'.repeat(26)}`;

    const creating = newWorkflow({ status: 'in_progress', eventId, [field]: id });

    expect(await failure(creating)).toEqual({
      type: 'ReferenceNotFound',
      message: `${field} "${id}" is not ${kind} of this bot.`,
    });
  });

  it('rejects a workflow with references to objects of another bot', async () => {
    const stranger = (await api.newBot()).client;
    const [user, conversation, parent] = await Promise.all([
      newUser(stranger),
      stranger.createConversation({ channel: 'channel', tags: {} }).then((reply) => reply.conversation),
      newWorkflow({}, stranger),
    ]);

    for (const references of [
      { userId: user.id },
      { conversationId: conversation.id },
      { parentWorkflowId: parent.id },
    ])
      expect(await failure(newWorkflow(references))).toMatchObject({ type: 'ReferenceNotFound' });
  });

  it.each<[Record<string, unknown>, RegExp]>([
    [{ status: 'in_progress' }, /^eventId is required when status is in_progress\.$/],
    [{ timeoutAt: '2020-01-31T12:00:00Z' }, /^timeoutAt must be a time in the future\.$/],
    [{ timeoutAt: '9999-12-31T23:00:00-05:00' }, /^timeoutAt must be before the year 10000 in UTC\.$/],
  ])('refuses to create the workflow %j', async (wrong, message) => {
    const reply = await api.send('POST /v1/chat/workflows', {
      headers: api.headersOf(botId),
      json: { name: 'checkout', status: 'pending', ...wrong },
    });

    expect([reply.status, reply.json.type, reply.json.message]).toEqual([
      400,
      'InvalidPayload',
      expect.stringMatching(message),
    ]);
  });

  it('creates one workflow per idempotency key', async () => {
    const name = randomUUID();
    const headers = { ...api.headersOf(botId), 'idempotency-key': name };
    const create = () =>
      api.send('POST /v1/chat/workflows', { headers, json: { name, status: 'pending', tags: { a: '1' } } });

    const first = await create();
    const second = await create();

    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.json).toEqual(first.json);
    expect((await client.listWorkflows({ name })).workflows).toHaveLength(1);
    expect(await updatesOf(first.json.workflow.id)).toHaveLength(1);
  });
});

describe('updateWorkflow', () => {
  it('changes the given fields of a workflow and merges tags', async () => {
    const workflow = await newWorkflow({ tags: { a: '1', b: '2', c: '3' }, input: { x: 1 } });
    const { id: userId } = await newUser();
    const timeoutAt = inAnHour();

    const { workflow: after } = await update(workflow.id, {
      status: 'in_progress',
      eventId,
      output: { y: 2 },
      timeoutAt,
      userId,
      tags: { a: null, b: '', c: '4', d: '5' },
    });
    const { workflow: same } = await update(workflow.id, {});

    expect(after).toEqual({
      ...workflow,
      status: 'in_progress',
      output: { y: 2 },
      timeoutAt,
      userId,
      tags: { c: '4', d: '5' },
      updatedAt: after.updatedAt,
    });
    expect(after.updatedAt > workflow.updatedAt).toBe(true);
    expect(same).toEqual({ ...after, updatedAt: same.updatedAt });
    expect((await client.listWorkflows({ tags: { d: '5' } })).workflows).toEqual([same]);
    expect((await client.listWorkflows({ tags: { c: '3' } })).workflows).not.toContainEqual(same);
  });

  it('keeps all tags of concurrent updates of a workflow', async () => {
    const { id } = await newWorkflow();
    const names = Array.from({ length: 12 }, (_, number) => `tag${number}`);

    await Promise.all(names.map((name) => update(id, { tags: { [name]: name } })));

    const { workflow } = await client.getWorkflow({ id });
    expect(workflow.tags).toEqual(Object.fromEntries(names.map((name) => [name, name])));
  });

  it("allows every change of a workflow's status except from an end status to another one", async () => {
    const next = ['in_progress', 'listening', 'paused', 'completed', 'failed', 'cancelled'] as const;
    const active = ['pending', 'in_progress', 'listening', 'paused'];
    const all = [...active, 'completed', 'failed', 'cancelled', 'timedout'];

    for (const from of all) {
      for (const to of next) {
        const { id } = await newWorkflow();
        await api.sql('UPDATE chat.workflow SET status = $2 WHERE id = $1', [id, from]);

        const outcome = await update(id, { status: to, eventId }).then(
          ({ workflow }) => workflow.status,
          (error: { type: string; message: string }) => `${error.type}: ${error.message}`,
        );

        const isFree = active.includes(from) || from === to;
        expect([from, outcome]).toEqual([
          from,
          isFree
            ? to
            : `RelationConflict: status can no longer be ${to}: workflow "${id}" has ended with status ${from}.`,
        ]);
      }
    }
  });

  it('rejects changes after the end of a workflow, and accepts a repeated update', async () => {
    const { id } = await newWorkflow();
    const timeoutAt = inAnHour();
    const ending = { status: 'completed' as const, output: { a: 1, b: [2] }, timeoutAt };
    await update(id, ending);

    const { workflow: again } = await update(id, { ...ending, output: { b: [2], a: 1 } });
    const refused = [
      await failure(update(id, { output: { a: 2 } })),
      await failure(update(id, { timeoutAt: '2999-01-31T12:00:00Z' })),
    ];

    const why = `workflow "${id}" has ended with status completed.`;
    expect(refused).toEqual([
      { type: 'RelationConflict', message: `output can no longer change: ${why}` },
      { type: 'RelationConflict', message: `timeoutAt can no longer change: ${why}` },
    ]);
    expect(again).toMatchObject(ending);
    expect((await client.getWorkflow({ id })).workflow).toEqual(again);
  });

  it.each(['completed', 'failed', 'cancelled'] as const)(
    'stores time and reason of %s of a workflow, once',
    async (status) => {
      const parent = await newWorkflow();
      const { id } = await newWorkflow({ parentWorkflowId: parent.id });

      const { workflow: ended } = await update(id, { status, failureReason: 'out of cups' });
      const { workflow: again } = await update(id, { status, tags: { a: '1' } });

      expect(ended).toMatchObject({ status, failureReason: 'out of cups', completedAt: expect.any(String) });
      expect(again.completedAt).toBe(ended.completedAt);
      expect(await updatesOf(parent.id)).toEqual([
        { type: 'child_workflow_finished', workflow: parent, childWorkflow: ended },
      ]);
    },
  );

  it.each<[Update, string, RegExp]>([
    [{ status: 'in_progress' }, 'InvalidPayload', /^eventId is required/],
    [{ eventId: 'evt_none' }, 'ReferenceNotFound', /^eventId "evt_none" is not an event/],
    [{ userId: 'user_none' }, 'ReferenceNotFound', /^userId "user_none" is not a user/],
    [{ timeoutAt: '2020-01-31T12:00:00Z' }, 'InvalidPayload', /^timeoutAt must be a time in the future/],
  ])('refuses to update a workflow by %j', async (changes, type, message) => {
    const workflow = await newWorkflow();

    expect(await failure(update(workflow.id, changes))).toEqual({ type, message: expect.stringMatching(message) });
    expect((await client.getWorkflow({ id: workflow.id })).workflow).toEqual(workflow);
  });
});

describe('a workflow', () => {
  it('returns 404 for a workflow with an unknown id and of another bot', async () => {
    const { id } = await newWorkflow({}, (await api.newBot()).client);

    for (const there of [id, 'wrkflow_none']) {
      const problem = { type: 'ResourceNotFound', message: `The workflow "${there}" was not found.` };
      expect(await failure(client.getWorkflow({ id: there }))).toEqual(problem);
      expect(await failure(update(there, {}))).toEqual(problem);
      expect(await failure(client.deleteWorkflow({ id: there }))).toEqual(problem);
    }
  });

  it('shows a workflow of an installation to it without its alias in tags, and to the bot with it', async () => {
    const mine = await newWorkflow();
    const workflow = await newWorkflow({ tags: { kind: 'order' }, status: 'pending' }, asTeam);

    expect(workflow.tags).toEqual({ kind: 'order' });
    expect((await client.getWorkflow({ id: workflow.id })).workflow.tags).toEqual({ 'team:kind': 'order' });
    expect((await asTeam.listWorkflows({ tags: { kind: 'order' } })).workflows).toEqual([workflow]);
    expect((await asTeam.listWorkflows({})).workflows).toEqual([workflow]);
    expect(await failure(asTeam.getWorkflow({ id: mine.id }))).toMatchObject({ type: 'ResourceNotFound' });
    expect(await failure(newWorkflow({ parentWorkflowId: mine.id }, asTeam))).toMatchObject({
      type: 'ReferenceNotFound',
    });
  });

  it("sends events of an installation's workflow only to the bot, with everything that the bot may see", async () => {
    const { id: userId } = await newUser(asTeam);
    const workflow = await newWorkflow({ status: 'pending', userId }, asTeam);
    await client.updateUser({ id: userId, tags: { secret: 'of the bot' } });
    await letTimeOut(workflow.id);

    const [, timedout] = await waitFor(
      () => updatesOf(workflow.id),
      (events) => events.length > 1,
    );

    expect(timedout!.user).toMatchObject({ tags: { secret: 'of the bot' } });
    expect((await client.listEvents({ workflowId: workflow.id })).events).toHaveLength(2);
    expect((await asTeam.listEvents({ workflowId: workflow.id })).events).toEqual([]);
  });

  it('creates events of a workflow without its deleted conversation', async () => {
    const { id: conversationId } = await newConversation();
    const { id } = await newWorkflow({ conversationId });
    await client.deleteConversation({ id: conversationId });
    await letTimeOut(id);

    await waitFor(
      () => updatesOf(id),
      (events) => events.length > 0,
    );

    expect(await api.sql('SELECT conversation_id FROM chat.event WHERE workflow_id = $1', [id])).toEqual([
      { conversation_id: null },
    ]);
  });

  it('accepts states of any name of a workflow, and deletes them with it', async () => {
    const { id } = await newWorkflow();
    const path = { type: 'workflow' as const, id, name: 'whatever' };

    const { state } = await client.patchState({ ...path, payload: { a: 1 } });
    await client.deleteWorkflow({ id });

    expect(state).toMatchObject({ name: 'whatever', payload: { a: 1 } });
    expect(await failure(client.getState(path))).toMatchObject({ type: 'ResourceNotFound' });
    expect(await api.sql('SELECT 1 FROM chat.state WHERE owner_id = $1', [id])).toEqual([]);
  });

  it('deletes a workflow with its tags, and creates an event for its parent', async () => {
    const parent = await newWorkflow();
    const child = await newWorkflow({ parentWorkflowId: parent.id, tags: { a: '1' } });

    expect(await client.deleteWorkflow({ id: child.id })).toEqual({});

    expect(await updatesOf(parent.id)).toEqual([
      { type: 'child_workflow_deleted', workflow: parent, childWorkflow: child },
    ]);
    expect(await api.sql('SELECT 1 FROM chat.tag WHERE object_id = $1', [child.id])).toEqual([]);
    expect(await failure(client.deleteWorkflow({ id: child.id }))).toMatchObject({ type: 'ResourceNotFound' });
  });

  it('sends no event for a parent workflow that has ended', async () => {
    const parent = await newWorkflow();
    const child = await newWorkflow({ parentWorkflowId: parent.id });
    await end(parent.id);

    await end(child.id);

    expect(await updatesOf(parent.id)).toEqual([]);
  });
});

describe('the timeout of a workflow', () => {
  it('ends a workflow by its timeout, with one event each for it and its parent', async () => {
    const conversation = await newConversation();
    const parent = await newWorkflow();
    const { id } = await newWorkflow({ parentWorkflowId: parent.id, conversationId: conversation.id });

    await letTimeOut(id);

    const own = await waitFor(
      () => updatesOf(id),
      (events) => events.length > 0,
    );
    const { workflow } = await client.getWorkflow({ id });
    expect(workflow).toMatchObject({ status: 'timedout', completedAt: expect.any(String) });
    expect(own).toMatchObject([{ type: 'workflow_timedout', workflow, conversation: { id: conversation.id } }]);
    expect(await updatesOf(parent.id)).toMatchObject([{ type: 'child_workflow_finished', childWorkflow: workflow }]);
    expect(await currentOf(conversation.id)).toBeUndefined();
  });

  it('ends each of many workflows once by its timeout', async () => {
    const workflows = await Promise.all(Array.from({ length: 50 }, () => newWorkflow({ name: 'many' })));
    const ids = workflows.map(({ id }) => id);

    await api.sql('UPDATE chat.workflow SET timeout_at = now() WHERE id = ANY ($1)', [ids]);

    await waitFor(
      () => api.sql(`SELECT 1 FROM chat.workflow WHERE id = ANY ($1) AND status <> 'timedout'`, [ids]),
      (left) => left.length === 0,
    );
    const events = await api.sql<{ workflow_id: string }>(
      'SELECT workflow_id FROM chat.event WHERE workflow_id = ANY ($1) ORDER BY workflow_id',
      [ids],
    );
    expect(events.map(({ workflow_id }) => workflow_id)).toEqual([...ids].sort());
  });

  it('ignores the timeout of a workflow that has ended', async () => {
    const { id } = await newWorkflow();
    const other = await newWorkflow();
    await end(id);

    await Promise.all([letTimeOut(id), letTimeOut(other.id)]);
    await waitFor(
      () => updatesOf(other.id),
      (events) => events.length > 0,
    );

    expect((await client.getWorkflow({ id })).workflow.status).toBe('completed');
    expect(await updatesOf(id)).toEqual([]);
  });
});

describe('the current workflow of a conversation', () => {
  it('returns the newest active workflow as the current one of a conversation', async () => {
    const { id: conversationId } = await newConversation();
    const [first, second, third] = [
      await newWorkflow({ conversationId }),
      await newWorkflow({ conversationId }),
      await newWorkflow({ conversationId }),
    ];
    const seen = [await currentOf(conversationId)];

    await end(second.id);
    seen.push(await currentOf(conversationId));
    await end(third.id, 'failed');
    seen.push(await currentOf(conversationId));
    await client.deleteWorkflow({ id: first.id });
    seen.push(await currentOf(conversationId));

    expect(seen).toEqual([third.id, third.id, first.id, undefined]);
  });

  it('returns no current workflow after all workflows ended concurrently', async () => {
    const { id: conversationId } = await newConversation();
    const workflows = await Promise.all(Array.from({ length: 20 }, () => newWorkflow({ conversationId })));

    await Promise.all(workflows.map(({ id }) => end(id)));

    expect(await currentOf(conversationId)).toBeUndefined();
  });
});

describe('getOrCreateWorkflow', () => {
  type Filter = Partial<Parameters<Client['getOrCreateWorkflow']>[0]>;
  const getOrCreate = (filter: Filter) =>
    client.getOrCreateWorkflow({ name: 'checkout', status: 'pending', ...filter });

  it('creates one workflow for concurrent getOrCreateWorkflow requests', async () => {
    const tags = { key: randomUUID() };

    const replies = await Promise.all(Array.from({ length: 40 }, () => getOrCreate({ tags })));

    expect(new Set(replies.map(({ workflow }) => workflow.id)).size).toBe(1);
    expect(replies.filter(({ meta }) => meta.created)).toHaveLength(1);
    expect(await updatesOf(replies[0]!.workflow.id)).toHaveLength(1);
  });

  it('compares the name and the tags in discriminateByTags of getOrCreateWorkflow', async () => {
    const key = randomUUID();
    const { workflow } = await getOrCreate({ tags: { key, color: 'red' } });

    const byKey = await getOrCreate({ tags: { key, color: 'blue' }, discriminateByTags: ['key'] });
    const byAll = await getOrCreate({ tags: { key, color: 'blue' } });
    const byOtherName = await getOrCreate({ name: 'refund', tags: { key, color: 'red' } });

    expect([byKey.workflow.id, byKey.meta.created]).toEqual([workflow.id, false]);
    expect([byAll.meta.created, byOtherName.meta.created]).toEqual([true, true]);
  });

  it('compares the conversation of getOrCreateWorkflow if one is given', async () => {
    const tags = { key: randomUUID() };
    const [{ id: here }, { id: there }] = await Promise.all([newConversation(), newConversation()]);
    const { workflow } = await getOrCreate({ tags, conversationId: here });

    const replies = [
      await getOrCreate({ tags, conversationId: here }),
      await getOrCreate({ tags, conversationId: there }),
      await getOrCreate({ tags }),
    ];

    expect(replies.map(({ meta }) => meta.created)).toEqual([false, true, false]);
    expect(replies[2]!.workflow.id).toBe(workflow.id);
  });

  it('compares the status group of getOrCreateWorkflow if one is given', async () => {
    const tags = { key: randomUUID() };
    const { workflow } = await getOrCreate({ tags });
    await end(workflow.id);

    const active = await getOrCreate({ tags, discriminateByStatusGroup: 'active' });
    const finished = await getOrCreate({ tags, discriminateByStatusGroup: 'finished' });

    expect([active.meta.created, finished.meta.created]).toEqual([true, false]);
    expect(finished.workflow.id).toBe(workflow.id);
  });

  it('compares name and status group of getOrCreateWorkflow if there are no tags', async () => {
    const name = randomUUID();

    const replies = [
      await getOrCreate({ name, discriminateByStatusGroup: 'active' }),
      await getOrCreate({ name, discriminateByStatusGroup: 'active' }),
      await getOrCreate({ name }),
    ];

    expect(replies.map(({ meta }) => meta.created)).toEqual([true, false, true]);
  });

  it('rejects a discriminating tag of getOrCreateWorkflow without a value', async () => {
    expect(await failure(getOrCreate({ tags: { a: '1' }, discriminateByTags: ['b'] }))).toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^discriminateByTags names "b"/),
    });
  });
});

describe('listWorkflows', () => {
  it('applies every filter of workflows, newest first', async () => {
    const [user, conversation, parent] = await Promise.all([newUser(), newConversation(), newWorkflow()]);
    const name = randomUUID();
    const plain = await newWorkflow({ name });
    const full = await newWorkflow({
      name,
      status: 'pending',
      userId: user.id,
      conversationId: conversation.id,
      parentWorkflowId: parent.id,
      tags: { name, a: 'b' },
    });
    const ids = async (query: Parameters<Client['listWorkflows']>[0]) =>
      (await client.listWorkflows(query)).workflows.map(({ id }) => id);

    expect(await ids({ name })).toEqual([full.id, plain.id]);
    expect(await ids({ userId: user.id })).toEqual([full.id]);
    expect(await ids({ conversationId: conversation.id })).toEqual([full.id]);
    expect(await ids({ parentWorkflowId: parent.id })).toEqual([full.id]);
    expect(await ids({ tags: { name, a: 'b' } })).toEqual([full.id]);
    expect(await ids({ tags: { name, a: 'c' } })).toEqual([]);
    expect(await ids({ name, statuses: ['pending'] })).toEqual([full.id]);
    expect(await ids({ name, statuses: ['listening', 'pending', 'pending'] })).toEqual([full.id, plain.id]);
    expect(await ids({ name, statuses: ['completed'] })).toEqual([]);
    expect((await ids({ statuses: ['listening', 'pending'] })).slice(0, 2)).toEqual([full.id, plain.id]);
    expect(await ids({ statuses: ['listening'], tags: { name } })).toEqual([]);
    expect(await ids({ userId: conversation.id })).toEqual([]);
  });

  it.each<[string, Parameters<Client['listWorkflows']>[0]]>([
    ['by name', { name: 'paged' }],
    ['by statuses', { statuses: ['paused', 'cancelled'] }],
    ['by tags', { tags: { paged: 'yes' } }],
  ])('pages %s through workflows created in the same millisecond', async (_how, query) => {
    const bot = await api.newBot();
    const made = await Promise.all(
      Array.from({ length: 11 }, () => newWorkflow({ name: 'paged', tags: { paged: 'yes' } }, bot.client)),
    );
    await api.sql(
      `UPDATE chat.workflow SET created_at = '2026-01-01', status = CASE WHEN right(id, 1) < 'F' THEN 'paused' ELSE 'cancelled' END
       WHERE bot_id = $1`,
      [bot.id],
    );
    await api.sql(`UPDATE chat.tag SET created_at = '2026-01-01' WHERE bot_id = $1`, [bot.id]);

    const seen: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await bot.client.listWorkflows({ ...query, pageSize: 3, nextToken });
      seen.push(...page.workflows.map(({ id }) => id));
      ({ nextToken } = page.meta);
    } while (nextToken);

    expect(seen).toEqual(
      made
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
  });

  it('rejects an invalid nextToken of workflows', async () => {
    expect(await failure(client.listWorkflows({ nextToken: 'x' }))).toEqual({
      type: 'InvalidQuery',
      message: expect.stringMatching(/^nextToken is not valid for this list/),
    });
  });
});
