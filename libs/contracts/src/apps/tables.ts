import { eraseBotInTables } from '../admin/bots';
import { files } from '../files';
import { tables, tablesWorkAdded } from '../tables/tables';
import { type App, nothing } from './app';

export const tablesApp: App = {
  ...nothing,
  serves: tables,
  requests: [files.get, files.upsert],
  consumes: [eraseBotInTables],
  broadcasts: [tablesWorkAdded],
  listens: [tablesWorkAdded],
};
