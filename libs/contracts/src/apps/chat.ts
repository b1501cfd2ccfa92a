import { eraseBotInChat } from '../admin/bots';
import { botVisibility } from '../admin/bot-visibility';
import { keepRecurringEvents, botDefinitions } from '../admin/bot-definitions';
import { noteCalledBot } from '../admin/targets';
import { webchats } from '../admin/webchats';
import { chat, chatWorkAdded } from '../chat/chat';
import { eventsPending } from '../chat/deliveries';
import { subjectErased } from '../chat/erased-subjects';
import { messagesOutgoing } from '../chat/outgoing-messages';
import { recurringEventSettled } from '../chat/recurring-outcomes';
import { signalChannel, signalsMissing } from '../chat/signals';
import { recordModelUse } from '../models/use';
import { settleEvents } from '../runtime/deliveries';
import { cellComputedByWorkflow, startColumnWorkflow } from '../tables/computations';
import { visitorFiles } from '../visitor-files';
import { type App, nothing } from './app';

export const chatApp: App = {
  ...nothing,
  serves: chat,
  requests: [
    botVisibility.require,
    botDefinitions.get,
    botDefinitions.findByWebhookId,
    visitorFiles.declare,
    webchats.requireUploads,
  ],
  publishes: [cellComputedByWorkflow, eventsPending, messagesOutgoing, recurringEventSettled, subjectErased],
  consumes: [eraseBotInChat, keepRecurringEvents, noteCalledBot, recordModelUse, settleEvents, startColumnWorkflow],
  broadcasts: [chatWorkAdded, signalChannel, signalsMissing],
  listens: [chatWorkAdded],
};
