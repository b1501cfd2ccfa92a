import { eraseBotInTables } from '../admin/bots';
import { noteComputingBot } from '../admin/targets';
import { files } from '../files';
import { computationRequested, storeCellsOfBot, storeCellsOfWorkflow, workflowRequested } from '../tables/computations';
import { tables, tablesWorkAdded } from '../tables/tables';
import { type App, nothing } from './app';

export const tablesApp: App = {
  ...nothing,
  serves: tables,
  requests: [files.get, files.upsert],
  publishes: [computationRequested, workflowRequested],
  consumes: [eraseBotInTables, noteComputingBot, storeCellsOfBot, storeCellsOfWorkflow],
  broadcasts: [tablesWorkAdded],
  listens: [tablesWorkAdded],
};
