import type { Consumer } from '../operation';
import { adminApp } from './admin';
import type { App, AppName } from './app';
import { chatApp } from './chat';
import { filesApp, filesWorkerApp } from './files';
import { gatewayApp } from './gateway';
import { hubApp } from './hub';
import { modelsApp } from './models';
import { runnerApp } from './runner';
import { runtimeApp } from './runtime';
import { tablesApp } from './tables';

/** Bus permissions of all apps. A service loads its own file only: the contracts of all services take 3 MB. */
export const apps: Record<AppName, App> = {
  gateway: gatewayApp,
  admin: adminApp,
  hub: hubApp,
  files: filesApp,
  'files-worker': filesWorkerApp,
  tables: tablesApp,
  chat: chatApp,
  runtime: runtimeApp,
  runner: runnerApp,
  models: modelsApp,
};

export const allConsumers: Consumer[] = Object.values(apps).flatMap(({ consumes }) => consumes);
