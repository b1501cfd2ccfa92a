import { eraseBotInTables, moveBotInTables } from '../admin/bots';
import { noteComputingBot } from '../admin/targets';
import { files } from '../files';
import { modelAnswers } from '../models/model-answers';
import { texts } from '../models/texts';
import { computationRequested, storeCellsOfBot, storeCellsOfWorkflow, workflowRequested } from '../tables/computations';
import { tables, tablesWorkAdded } from '../tables/tables';
import { type App, nothing } from './app';

export const tablesApp: App = {
  ...nothing,
  serves: tables,
  requests: [files.get, files.upsert, texts.generate],
  requestsInstances: [modelAnswers.control],
  publishes: [computationRequested, workflowRequested],
  consumes: [eraseBotInTables, moveBotInTables, noteComputingBot, storeCellsOfBot, storeCellsOfWorkflow],
  broadcasts: [tablesWorkAdded],
  listens: [tablesWorkAdded],
};
