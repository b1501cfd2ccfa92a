import { administrativeChange } from '../admin/audit';
import { identity } from '../admin/identity';
import { countInstallations, installations } from '../admin/installations';
import { usageChanged } from '../admin/usage';
import { dropWorkspace, labelWorkspace, workspaces } from '../admin/workspaces';
import { hub } from '../hub/hub';
import { hubEntryChanged } from '../hub/resolution';
import { runner } from '../runner/runner';
import { type App, nothing } from './app';

export const hubApp: App = {
  ...nothing,
  serves: hub,
  requests: [identity.roleInBot, workspaces.label, runner.codeChecks.run],
  formerRequests: [installations.count],
  publishes: [administrativeChange, hubEntryChanged, usageChanged],
  consumes: [countInstallations, dropWorkspace, labelWorkspace],
};
