import { admin } from './admin/admin';
import { recordChange, administrativeChange } from './admin/audit';
import {
  botDeleted,
  botTransferred,
  endUsage,
  eraseBotInChat,
  eraseBotInFiles,
  eraseBotInTables,
  moveBotInFiles,
} from './admin/bots';
import { credentialsChanged } from './admin/identity';
import { countInstallations, installationsChanged, refreshInstalled } from './admin/installations';
import { keepRecurringEvents, recurringEventsChanged, runtime } from './admin/runtime';
import { recordUsage, usageChanged } from './admin/usage';
import { dropWorkspace, labelWorkspace, workspaceChanged, workspaceDeleted } from './admin/workspaces';
import { callers } from './chat/callers';
import { chat } from './chat/chat';
import { signalChannel, signals, signalsMissing } from './chat/signals';
import { users } from './chat/users';
import { allOperations } from './contracts';
import { files, fileUploaded, indexFile } from './files';
import { hub } from './hub/hub';
import { hubEntryChanged, refreshInstallations, resolution } from './hub/resolution';
import type { Broadcast, Channel, Consumer, Contract, Event, InstanceOperation, Operation } from './operation';
import { tables } from './tables/tables';

export type AppName = 'gateway' | 'admin' | 'hub' | 'files' | 'files-worker' | 'tables' | 'chat';

/** Bus permissions of an app: all that it may publish and subscribe to. */
export interface App {
  answers: Contract;
  /** Operations of other apps. */
  asks: Operation[];
  /** Operations that single processes of the app answer, each for the keys of what it holds. */
  answersByInstance?: InstanceOperation[];
  asksInstances?: InstanceOperation[];
  /** Events that its outbox may hold. */
  announces: Event[];
  consumes: Consumer[];
  /** Consumers whose dead letters its outbox may replay. The app's own consumers when absent. */
  repeats?: Consumer[];
  tells: (Broadcast | Channel)[];
  hears: (Broadcast | Channel)[];
}

const nothing: App = { answers: {}, asks: [], announces: [], consumes: [], tells: [], hears: [] };
/** Shared outbox: files and files-worker use one schema, and either publishes rows of the other. */
const filesOutbox = {
  announces: [fileUploaded, usageChanged],
  repeats: [eraseBotInFiles, indexFile, moveBotInFiles],
};

export const apps: Record<AppName, App> = {
  gateway: {
    ...nothing,
    asks: [
      ...allOperations.filter(({ route }) => route),
      admin.identity.identify,
      callers.verify,
      signals.open,
      signals.catchUp,
    ],
    hears: [credentialsChanged, signalsMissing, signalChannel],
  },
  admin: {
    ...nothing,
    answers: admin,
    asks: [users.exists, resolution.integrations, resolution.owner, resolution.plugins],
    announces: [
      botDeleted,
      botTransferred,
      installationsChanged,
      recurringEventsChanged,
      workspaceChanged,
      workspaceDeleted,
    ],
    consumes: [endUsage, recordChange, recordUsage, refreshInstallations, refreshInstalled],
    tells: [credentialsChanged],
  },
  hub: {
    ...nothing,
    answers: hub,
    asks: [admin.identity.roleInBot, admin.installations.count, admin.workspaces.label],
    announces: [administrativeChange, hubEntryChanged, usageChanged],
    consumes: [countInstallations, dropWorkspace, labelWorkspace],
  },
  files: {
    ...nothing,
    answers: files,
    asks: [admin.identity.roleInBot],
    ...filesOutbox,
    consumes: [eraseBotInFiles, moveBotInFiles],
  },
  'files-worker': {
    ...nothing,
    ...filesOutbox,
    consumes: [indexFile],
  },
  tables: {
    ...nothing,
    answers: tables,
    asks: [files.get, files.upsert],
    consumes: [eraseBotInTables],
  },
  chat: {
    ...nothing,
    answers: chat,
    asks: [runtime.get, runtime.webhook],
    consumes: [eraseBotInChat, keepRecurringEvents],
    tells: [signalChannel, signalsMissing],
  },
};

export const allConsumers: Consumer[] = Object.values(apps).flatMap(({ consumes }) => consumes);
