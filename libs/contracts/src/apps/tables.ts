import { eraseBotInTables } from '../admin/bots';
import { files } from '../files';
import { tables, tablesWorkAdded } from '../tables/tables';
import { type App, nothing } from './app';

export const tablesApp: App = {
  ...nothing,
  answers: tables,
  asks: [files.get, files.upsert],
  consumes: [eraseBotInTables],
  tells: [tablesWorkAdded],
  hears: [tablesWorkAdded],
};
