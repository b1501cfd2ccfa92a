import { randomUUID } from 'node:crypto';
import { Integration } from 'botpress-sdk-5';
import type { AgentRequest } from '../handover-names';
import type { DeskTypes } from '../handover-types';

/** Help desk whose tickets are its conversations. Agents act by requests to its webhook. */
const desk = new Integration<DeskTypes>({
  register: () => Promise.resolve(),
  unregister: () => Promise.resolve(),

  actions: {
    createUser: async ({ client, input: { name, pictureUrl, email } }) => {
      const { user } = await client.getOrCreateUser({ name, pictureUrl, tags: { email } });
      return { userId: user.id };
    },
    startHitl: async ({ client, input }) => {
      const tags = { ticket: randomUUID() };
      const { conversation } = await client.createConversation({ channel: 'hitl', tags });
      await client.setState({ type: 'conversation', id: conversation.id, name: 'ticket', payload: { opened: input } });
      return { conversationId: conversation.id };
    },
    stopHitl: async ({ client, input: { conversationId, reason } }) => {
      await client.updateConversation({ id: conversationId, tags: { closed: reason ?? 'by the bot' } });
      return {};
    },
  },

  channels: {
    hitl: {
      // The tag is the user on whose behalf the desk has shown the message.
      messages: { text: ({ ack, payload }) => ack({ tags: { shownAs: payload.userId ?? 'the bot' } }) },
    },
  },

  handler: async ({ client, req }) => {
    const { ask, conversationId, agent, text = '' } = JSON.parse(req.body!) as AgentRequest;
    if (ask === 'ticket') {
      const { state } = await client.getState({ type: 'conversation', id: conversationId, name: 'ticket' });
      return { status: 200, body: JSON.stringify(state.payload.opened) };
    }
    const { user } = await client.getOrCreateUser({ name: agent, tags: { email: `${agent}@desk.invalid` } });
    if (ask === 'say')
      await client.createMessage({ conversationId, userId: user.id, type: 'text', payload: { text }, tags: {} });
    if (ask === 'join')
      await client.createEvent({ type: 'hitlAssigned', payload: { conversationId, userId: user.id }, conversationId });
    if (ask === 'leave') await client.createEvent({ type: 'hitlStopped', payload: { conversationId }, conversationId });
    return { status: 200, body: JSON.stringify({ userId: user.id }) };
  },
});

export default desk;
