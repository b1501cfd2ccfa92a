import { admin } from '../admin/admin';
import { credentialsChanged } from '../admin/identity';
import { callers } from '../chat/callers';
import { users } from '../chat/users';
import { files } from '../files';
import { signalChannel, signals, signalsMissing } from '../chat/signals';
import { allOperations } from '../contracts';
import { botVisibility } from '../admin/bot-visibility';
import { sharedWebhooks } from '../hub/shared-webhooks';
import { logLines } from '../runtime/log-tails';
import { webchats } from '../admin/webchats';
import { webhooks } from '../runtime/webhooks';
import { modelAnswers } from '../models/model-answers';
import { tunnelHolder, tunnelRequest } from '../tunnel';
import { type App, nothing } from './app';

export const gatewayApp: App = {
  ...nothing,
  requests: [
    ...allOperations.filter(({ route }) => route),
    admin.identity.identify,
    botVisibility.require,
    callers.verify,
    files.store,
    users.exists,
    signals.open,
    signals.catchUp,
    webchats.getOrigins,
    sharedWebhooks.require,
    webhooks.receive,
    webhooks.receiveShared,
    webhooks.require,
  ],
  servesByInstance: [tunnelRequest, tunnelHolder],
  requestsInstances: [modelAnswers.control, tunnelHolder],
  listens: [credentialsChanged, logLines, modelAnswers.frames, signalsMissing, signalChannel],
};
