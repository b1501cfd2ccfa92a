import { eraseBotInChat } from '../admin/bots';
import { keepRecurringEvents, botDefinitions } from '../admin/bot-definitions';
import { chat, chatWorkAdded } from '../chat/chat';
import { signalChannel, signalsMissing } from '../chat/signals';
import { type App, nothing } from './app';

export const chatApp: App = {
  ...nothing,
  answers: chat,
  asks: [botDefinitions.get, botDefinitions.findByWebhookId],
  consumes: [eraseBotInChat, keepRecurringEvents],
  tells: [chatWorkAdded, signalChannel, signalsMissing],
  hears: [chatWorkAdded],
};
