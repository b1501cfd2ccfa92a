import { AdminConfig } from '../../admin/src/config';
import { ChatConfig } from '../../chat/src/config';
import { FilesConfig } from '../../files/src/config';
import { FilesWorkerConfig } from '../../files-worker/src/config';
import { GatewayConfig } from '../../gateway/src/config';
import { HubConfig } from '../../hub/src/config';
import { TablesConfig } from '../../tables/src/config';
import { readConfig, readConfigs } from '@parley/config/config';
import { newToken } from '@parley/secrets/token';
import { StandaloneConfig } from './config';

/** What the embedded mode finds out as it starts, where the environment says nothing. */
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
  tables: TablesConfig,
};

/** The configurations of all apps. Throws ConfigError with all that is wrong. */
export function readAppConfigs(env: NodeJS.ProcessEnv) {
  return readConfigs(apps, env);
}

/** The configuration of the process. Throws ConfigError with all that is wrong with it and with that of any app. */
export function readStandaloneConfig(): StandaloneConfig {
  const isSet = ([, value]: [string, string | undefined]) => value !== undefined && value !== '';
  const set = Object.fromEntries(Object.entries(process.env).filter(isSet));
  readConfigs({ standalone: StandaloneConfig, ...apps }, { ...standIns, ...set });
  return readConfig(StandaloneConfig);
}
