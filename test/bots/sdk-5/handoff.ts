import { Plugin, type PluginProps } from 'botpress-sdk-5';
import { defaultMessages } from '../handover-names';
import type { HandoffTypes } from '../handover-types';

type Actions = PluginProps<HandoffTypes>['actions'];
type Call = Omit<Parameters<Actions['stopHitl']>[0], 'input' | 'type'>;

const goOn = { stop: false };
const handled = { stop: true };

/** Starts a session, unless one is active. */
const startHitl: Actions['startHitl'] = async (call) => {
  const { conversationId, userId, title, configurationOverrides } = call.input;
  if (await isActive(call, conversationId)) return {};
  const configuration = { ...call.configuration, ...configurationOverrides };
  await call.states.conversation.effectiveSessionConfig.set(conversationId, configuration);
  await say(call, conversationId, configuration.onHitlHandoffMessage ?? defaultMessages.handedOver);

  const downstreamUserId = await downstreamUserOf(call, userId);
  const { messages } = await call.client.listMessages({ conversationId });
  const messageHistory = messages
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt))
    .map(({ direction, type, payload }) => ({
      source: direction === 'outgoing' ? { type: 'bot' } : { type: 'user', userId: downstreamUserId },
      type,
      payload,
    }));
  const started = await call.actions.hitl.startHitl({ userId: downstreamUserId, title, messageHistory });
  const [upstream, downstream] = await Promise.all([find(call, conversationId), find(call, started.conversationId)]);
  await Promise.all([
    upstream.update({ tags: { downstream: downstream.id, humanAgentId: '', humanAgentName: '' } }),
    downstream.update({ tags: { upstream: upstream.id } }),
    setActive(call, upstream.id, true),
    setActive(call, downstream.id, true),
  ]);
  const seconds = configuration.agentAssignedTimeoutSeconds;
  if (seconds === undefined) return {};
  const timeout = call.events.humanAgentAssignedTimeout.withConversationId(upstream.id).withUserId(userId);
  const payload = { sessionStartedAt: new Date().toISOString(), downstreamConversationId: downstream.id };
  await timeout.schedule(payload, { delay: seconds * 1000 });
  return {};
};

const stopHitl: Actions['stopHitl'] = async (call) => {
  const upstream = await find(call, call.input.conversationId);
  if (await isActive(call, upstream.id)) await end(call, upstream.id, upstream.tags.downstream!);
  return {};
};

/** Hands conversations over to agents, with the names, states, tags and payloads of the public plugin `hitl`. */
const handoff = new Plugin<HandoffTypes>({ actions: { startHitl, stopHitl } });

handoff.on.beforeIncomingMessage('*', async (call) => {
  const { conversationId, type, payload, userId } = call.data;
  const conversation = await find(call, conversationId);
  const isFromAgent = conversation.integration === call.interfaces.hitl.integrationAlias;
  if (!(await isActive(call, conversationId))) return isFromAgent ? handled : goOn;
  const receiver = isFromAgent ? conversation.tags.upstream : conversation.tags.downstream;
  const sender = isFromAgent ? undefined : (await call.users.getById({ id: userId })).tags.downstream;
  await call.client.createMessage({
    ...{ conversationId: receiver!, userId: call.ctx.botId, tags: {} },
    // With its type in the payload, and with the user on whose behalf the desk shows it.
    ...{ type, payload: { type, ...payload, userId: sender } },
  });
  return handled;
});

handoff.on.beforeIncomingEvent('hitl:hitlAssigned', async (call) => {
  const { conversationId, userId } = call.data.payload;
  const downstream = await find(call, conversationId);
  const upstream = await find(call, downstream.tags.upstream!);
  const { user } = await call.client.getUser({ id: userId });
  const tags = { humanAgentId: userId, humanAgentName: user.name! };
  await Promise.all([
    say(call, upstream.id, defaultMessages.assigned),
    upstream.update({ tags }),
    downstream.update({ tags }),
  ]);
  return handled;
});

handoff.on.beforeIncomingEvent('hitl:hitlStopped', async (call) => {
  const { conversationId } = call.data.payload;
  if (!(await isActive(call, conversationId))) return handled;
  const { upstream } = (await find(call, conversationId)).tags;
  await Promise.all([setActive(call, upstream!, false), setActive(call, conversationId, false)]);
  await say(call, upstream!, defaultMessages.stopped);
  return handled;
});

handoff.on.beforeIncomingEvent('humanAgentAssignedTimeout', async (call) => {
  const { downstreamConversationId } = call.data.payload;
  const upstream = await find(call, call.data.conversationId!);
  if (upstream.tags.humanAgentId || !(await isActive(call, upstream.id))) return goOn;
  await say(call, downstreamConversationId, defaultMessages.cancelled);
  await end(call, upstream.id, downstreamConversationId, 'timeout');
  await say(call, upstream.id, defaultMessages.timedOut);
  return goOn;
});

function find({ conversations }: Pick<Call, 'conversations'>, id: string) {
  return conversations.hitl.hitl.getById({ id });
}

async function isActive({ states }: Pick<Call, 'states'>, id: string): Promise<boolean> {
  return (await states.conversation.hitl.getOrSet(id, { hitlActive: false })).hitlActive;
}

function setActive({ states }: Pick<Call, 'states'>, id: string, hitlActive: boolean): Promise<void> {
  return states.conversation.hitl.set(id, { hitlActive }, { expiryMs: 3_600_000 });
}

/** User of the desk who stands for a user of the bot. Created once. */
async function downstreamUserOf({ actions, users }: Pick<Call, 'actions' | 'users'>, id: string): Promise<string> {
  const upstream = await users.getById({ id });
  if (upstream.tags.downstream) return upstream.tags.downstream;
  const { userId } = await actions.hitl.createUser({ name: upstream.name, email: `${id}@users.invalid` });
  await upstream.update({ tags: { downstream: userId } });
  await (await users.getById({ id: userId })).update({ tags: { upstream: id } });
  return userId;
}

async function end(call: Pick<Call, 'actions' | 'states'>, upstream: string, downstream: string, reason?: 'timeout') {
  await call.actions.hitl.stopHitl({ conversationId: downstream, reason });
  await Promise.all([setActive(call, upstream, false), setActive(call, downstream, false)]);
}

async function say({ client, ctx }: Pick<Call, 'client' | 'ctx'>, conversationId: string, text: string): Promise<void> {
  const payload = { type: 'text', text, userId: undefined };
  await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload });
}

export default handoff;
