import { admin } from '../admin/admin';
import { recordChange } from '../admin/audit';
import { botDeleted, botTransferred, codeNotLoadable, deploymentRefused, endUsage } from '../admin/bots';
import { budgetChanged } from '../admin/budgets';
import { credentialsChanged } from '../admin/identity';
import { installationsChanged, refreshInstalled } from '../admin/installations';
import { recurringEventsChanged } from '../admin/bot-definitions';
import { botTargetChanged } from '../admin/targets';
import { registerInstallations, registrationsPending } from '../admin/registrations';
import { recordUsage } from '../admin/usage';
import { workspaceChanged, workspaceDeleted } from '../admin/workspaces';
import { recordRecurringFailure } from '../chat/recurring-outcomes';
import { users } from '../chat/users';
import { linkScripts } from '../hub/link-scripts';
import { refreshInstallations, resolution } from '../hub/resolution';
import { runner } from '../runner/runner';
import { type App, nothing } from './app';

export const adminApp: App = {
  ...nothing,
  serves: admin,
  requests: [
    linkScripts.run,
    users.exists,
    resolution.integrations,
    resolution.owner,
    resolution.plugins,
    runner.codeChecks.run,
  ],
  publishes: [
    botDeleted,
    botTargetChanged,
    botTransferred,
    budgetChanged,
    codeNotLoadable,
    installationsChanged,
    recurringEventsChanged,
    registrationsPending,
    workspaceChanged,
    workspaceDeleted,
  ],
  formerPublishes: [deploymentRefused],
  consumes: [endUsage, recordChange, recordRecurringFailure, recordUsage, refreshInstallations, refreshInstalled],
  watches: [registerInstallations],
  broadcasts: [credentialsChanged],
};
