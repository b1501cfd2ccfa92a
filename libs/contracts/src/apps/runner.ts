import { logs } from '../runtime/logs';
import { invokeCode, putCodePart, runner, runnerAnnounced, runnersWanted } from '../runner/runner';
import { type App, nothing } from './app';

export const runnerApp: App = {
  ...nothing,
  serves: runner,
  requests: [logs.write],
  servesByInstance: [invokeCode, putCodePart],
  broadcasts: [runnerAnnounced],
  listens: [runnersWanted],
};
