import { botCode } from '../admin/bot-code';
import { invokeCode, runnerAnnounced, runnersWanted } from '../runner/runner';
import { type App, nothing } from './app';

export const runnerApp: App = {
  ...nothing,
  asks: [botCode.getPart, botCode.getSecrets],
  answersByInstance: [invokeCode],
  tells: [runnerAnnounced],
  hears: [runnersWanted],
};
