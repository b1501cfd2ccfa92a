import { botCode } from '../admin/bot-code';
import { integrationCode } from '../hub/integration-targets';
import { logs } from '../runtime/logs';
import { invokeCode, runner, runnerAnnounced, runnersWanted } from '../runner/runner';
import { type App, nothing } from './app';

export const runnerApp: App = {
  ...nothing,
  serves: runner,
  requests: [botCode.getPart, botCode.getSecrets, integrationCode.getPart, integrationCode.getSecrets, logs.write],
  servesByInstance: [invokeCode],
  broadcasts: [runnerAnnounced],
  listens: [runnersWanted],
};
