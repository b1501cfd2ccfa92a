import { eraseBotInModels } from '../admin/bots';
import { models } from '../models/models';
import { modelAnswers } from '../models/model-answers';
import { type App, nothing } from './app';

export const modelsApp: App = {
  ...nothing,
  serves: models,
  servesByInstance: [modelAnswers.control],
  consumes: [eraseBotInModels],
  broadcasts: [modelAnswers.frames],
};
