import { modelActions } from '../models/model-actions';
import { recordBudgetIssue } from '../models/use';
import { administrativeChange } from '../admin/audit';
import { eraseBotInRuntime, recordRefusedDeployment, recordUnloadableCode } from '../admin/bots';
import { botCode } from '../admin/bot-code';
import { botVisibility } from '../admin/bot-visibility';
import { eraseRecordings } from '../admin/installations';
import { registerBot, targets, wakeDeliveries } from '../admin/targets';
import { registerInstallations, registrations } from '../admin/registrations';
import { runtimeKeys } from '../admin/runtime-keys';
import { usageChanged } from '../admin/usage';
import { chatActions } from '../chat/chat-actions';
import { deliverEvents, deliveries } from '../chat/deliveries';
import { deliverMessages, outgoingMessages } from '../chat/outgoing-messages';
import { eraseLogs } from '../chat/erased-subjects';
import { integrationCode, integrationTargets } from '../hub/integration-targets';
import { resolution } from '../hub/resolution';
import { sharedWebhooks } from '../hub/shared-webhooks';
import { eventsSettled } from '../runtime/deliveries';
import { invokeCode, putCodePart, runnerAnnounced, runnersWanted } from '../runner/runner';
import { logLines } from '../runtime/log-tails';
import { runtime, runtimeWorkAdded } from '../runtime/runtime';
import { cellsComputedByBot, computeRowsByBot } from '../tables/computations';
import { tunnelHolder, tunnelRequest } from '../tunnel';
import { type App, nothing } from './app';

export const runtimeApp: App = {
  ...nothing,
  serves: runtime,
  requests: [
    modelActions.call,
    botCode.getPart,
    botCode.sealSecrets,
    botVisibility.require,
    integrationCode.getPart,
    integrationCode.sealSecrets,
    integrationTargets.get,
    integrationTargets.getAction,
    registrations.listPending,
    registrations.settle,
    registrations.connect,
    runtimeKeys.issue,
    sharedWebhooks.answer,
    sharedWebhooks.route,
    resolution.owner,
    targets.findInstallation,
    targets.getAction,
    targets.getBot,
    targets.getInstallation,
    targets.identifyInstallation,
    chatActions.publishMessageStream,
    chatActions.sendEvent,
    deliveries.getPending,
    outgoingMessages.get,
  ],
  requestsInstances: [invokeCode, putCodePart, tunnelHolder, tunnelRequest],
  publishes: [administrativeChange, cellsComputedByBot, eventsSettled, usageChanged],
  consumes: [
    computeRowsByBot,
    deliverEvents,
    deliverMessages,
    eraseBotInRuntime,
    eraseLogs,
    eraseRecordings,
    recordRefusedDeployment,
    recordBudgetIssue,
    recordUnloadableCode,
    registerBot,
    registerInstallations,
    wakeDeliveries,
  ],
  broadcasts: [logLines, runnersWanted, runtimeWorkAdded],
  listens: [runnerAnnounced, runtimeWorkAdded],
};
