import { eraseBotInChat } from '../admin/bots';
import { keepRecurringEvents, runtime } from '../admin/runtime';
import { chat } from '../chat/chat';
import { signalChannel, signalsMissing } from '../chat/signals';
import { type App, nothing } from './app';

export const chatApp: App = {
  ...nothing,
  answers: chat,
  asks: [runtime.get, runtime.webhook],
  consumes: [eraseBotInChat, keepRecurringEvents],
  tells: [signalChannel, signalsMissing],
};
