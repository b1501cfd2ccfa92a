import { Bot } from 'botpress-sdk-5';
import { deskAlias, implementation, pluginAlias } from '../handover-names';
import handoff from './handoff';

const bot = new Bot({
  actions: {},
  plugins: {
    // As the CLI writes it from the dependencies of a bot.
    [pluginAlias]: handoff.initialize({
      alias: pluginAlias,
      configuration: {},
      integrations: {},
      interfaces: {
        hitl: {
          ...{ name: 'desk', version: '1.0.0', integrationAlias: deskAlias, integrationInterfaceAlias: 'hitl' },
          ...implementation,
        },
      },
    }),
  },
});

/** `human <seconds>` asks for a person, who has these seconds to come. */
bot.on.message('*', async ({ client, ctx, message }) => {
  const { conversationId, userId } = message;
  const text = String(message.payload.text);
  const [command, seconds] = text.split(' ');
  if (command === 'human') {
    const configurationOverrides = seconds ? { agentAssignedTimeoutSeconds: Number(seconds) } : undefined;
    const input = { title: 'Needs a person', conversationId, userId, configurationOverrides };
    await client.callAction({ type: `${pluginAlias}#startHitl`, input });
    return;
  }
  const payload = { text: `bot: ${text}` };
  await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload });
});

export default bot;
