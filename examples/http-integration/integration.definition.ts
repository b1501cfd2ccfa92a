import { IntegrationDefinition, z } from '@botpress/sdk';

const id = { title: 'Id', description: 'Id in the other service' };

export default new IntegrationDefinition({
  name: 'http',
  version: '1.0.0',
  title: 'HTTP',
  description: 'Connects a bot with any HTTP service, in both directions.',
  configuration: {
    schema: z.object({
      serviceUrl: z.string().url().describe('Address of the service: messages of the bot are posted to it.'),
      secret: z.string().min(8).describe('Both sides sign their requests with it.'),
    }),
  },
  channels: {
    channel: {
      messages: { text: { schema: z.object({ text: z.string() }) } },
      message: { tags: { id } },
      conversation: { tags: { id } },
    },
  },
  user: { tags: { id } },
  actions: {
    count: {
      title: 'Count',
      description: 'Asks the service how many messages it got.',
      input: { schema: z.object({ conversationId: z.string() }) },
      output: { schema: z.object({ messages: z.number() }) },
    },
  },
  events: { left: { title: 'Left', description: 'A user has left.', schema: z.object({ userId: z.string() }) } },
});
