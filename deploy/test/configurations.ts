import { ConfigError, readConfig, variablesOf } from '@parley/config/config';
import type { AppName } from '@parley/contracts/apps/app';
import { newToken } from '@parley/secrets/token';
import { NatsConfig, ServiceConfig } from '@parley/service/config';
import { AdminConfig } from '../../apps/admin/src/config';
import { ChatConfig } from '../../apps/chat/src/config';
import { FilesConfig } from '../../apps/files/src/config';
import { FilesWorkerConfig } from '../../apps/files-worker/src/config';
import { GatewayConfig } from '../../apps/gateway/src/config';
import { HubConfig } from '../../apps/hub/src/config';
import { ModelsConfig } from '../../apps/models/src/config';
import { RunnerConfig } from '../../apps/runner/src/config';
import { RuntimeConfig } from '../../apps/runtime/src/config';
import { TablesConfig } from '../../apps/tables/src/config';

type ConfigClass = new () => object;

const ofApps: Record<AppName, ConfigClass[]> = {
  gateway: [GatewayConfig, NatsConfig],
  admin: [AdminConfig, NatsConfig],
  hub: [HubConfig, NatsConfig],
  files: [FilesConfig, NatsConfig],
  'files-worker': [FilesWorkerConfig, NatsConfig],
  tables: [TablesConfig, NatsConfig],
  chat: [ChatConfig, NatsConfig],
  runtime: [RuntimeConfig, NatsConfig],
  runner: [RunnerConfig, NatsConfig],
  models: [ModelsConfig, NatsConfig],
};
const ofJobs = { migrate: [ServiceConfig], streams: [NatsConfig] };
/** Environment variables that Node.js reads. */
const runtime = ['NODE_EXTRA_CA_CERTS'];
const read: Record<string, ConfigClass[]> = { ...ofApps, ...ofJobs };

export const apps = Object.keys(ofApps);
export const jobs = Object.keys(ofJobs);

/** Problems of a process's environment: unknown variables, and missing or invalid ones. */
export function complaintsAbout(process: string, env: Record<string, string>): string[] {
  const known = new Set([...runtime, ...read[process]!.flatMap(variablesOf).map((variable) => variable.env)]);
  const unknown = Object.keys(env).filter((name) => !known.has(name));
  return [
    ...unknown.map((name) => `${process} does not read ${name}.`),
    ...read[process]!.flatMap((config) => problemsOf(config, env)).map((problem) => `${process}: ${problem}`),
  ];
}

export function optionalOf(app: string): string[] {
  return read[app]!.flatMap((config) => {
    const defaults = new config() as Record<string, unknown>;
    return variablesOf(config)
      .filter(({ field, optional }) => optional || defaults[field] !== undefined)
      .map(({ env }) => env);
  });
}

function problemsOf(config: ConfigClass, env: Record<string, string>): string[] {
  try {
    readConfig(config, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

export function exampleSecret(variable: string): string {
  if (variable === 'DATABASE_URL') return 'postgres://user:secret@postgres.example/parley';
  return variable === 'PARLEY_BOOTSTRAP_TOKEN' ? newToken('pat') : 'x'.repeat(32);
}
