import { eraseBotInFiles, moveBotInFiles } from '../admin/bots';
import { identity } from '../admin/identity';
import { usageChanged } from '../admin/usage';
import { files, filesWorkAdded, fileUploaded, indexFile } from '../files';
import { modelAnswers } from '../models/model-answers';
import { texts } from '../models/texts';
import { eraseVisitorFiles } from '../visitor-files';
import { type App, nothing } from './app';

/** Shared outbox: files and files-worker use one schema, and either publishes rows of the other. */
const outbox = {
  publishes: [fileUploaded, usageChanged],
  republishes: [eraseBotInFiles, eraseVisitorFiles, indexFile, moveBotInFiles],
};

export const filesApp: App = {
  ...nothing,
  ...outbox,
  serves: files,
  requests: [identity.roleInBot],
  consumes: [eraseBotInFiles, eraseVisitorFiles, moveBotInFiles],
  broadcasts: [filesWorkAdded],
  listens: [filesWorkAdded],
};

export const filesWorkerApp: App = {
  ...nothing,
  ...outbox,
  requests: [texts.generate],
  requestsInstances: [modelAnswers.control],
  consumes: [indexFile],
  broadcasts: [filesWorkAdded],
  listens: [filesWorkAdded],
};
