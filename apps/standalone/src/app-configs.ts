import { AdminConfig } from '../../admin/src/config';
import { ChatConfig } from '../../chat/src/config';
import { FilesConfig } from '../../files/src/config';
import { FilesWorkerConfig } from '../../files-worker/src/config';
import { GatewayConfig } from '../../gateway/src/config';
import { HubConfig } from '../../hub/src/config';
import { ModelsConfig } from '../../models/src/config';
import { RunnerConfig } from '../../runner/src/config';
import { RuntimeConfig } from '../../runtime/src/config';
import { TablesConfig } from '../../tables/src/config';
import { readConfig, readConfigs } from '@parley/config/config';
import { newToken } from '@parley/secrets/token';
import { StandaloneConfig } from './config';

/** Placeholders for variables that the embedded mode sets during its start, so that all others can be validated first. */
const standIns = {
  CONTENT_URL: 'http://localhost',
  DATABASE_URL: 'postgres://localhost',
  FILES_URL: 'http://localhost',
  PARLEY_BOOTSTRAP_TOKEN: newToken('pat'),
  PARLEY_SECRET_KEY: 's'.repeat(32),
  PUBLIC_URL: 'http://localhost',
};

const apps = {
  admin: AdminConfig,
  chat: ChatConfig,
  files: FilesConfig,
  filesWorker: FilesWorkerConfig,
  gateway: GatewayConfig,
  hub: HubConfig,
  models: ModelsConfig,
  runtime: RuntimeConfig,
  runner: RunnerConfig,
  tables: TablesConfig,
};

/** Configurations of all apps. Throws ConfigError with all problems. */
export function readAppConfigs(env: NodeJS.ProcessEnv) {
  return readConfigs(apps, env);
}

/** Configuration of this process. Throws ConfigError with all problems, including those of every app. */
export function readStandaloneConfig(): StandaloneConfig {
  const isSet = ([, value]: [string, string | undefined]) => value !== undefined && value !== '';
  const set = Object.fromEntries(Object.entries(process.env).filter(isSet));
  readConfigs({ standalone: StandaloneConfig, ...apps }, { ...standIns, ...set });
  return readConfig(StandaloneConfig);
}
