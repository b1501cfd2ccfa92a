import { eraseBotInModels } from '../admin/bots';
import { keepBudget } from '../admin/budgets';
import { usageChanged } from '../admin/usage';
import { dropWorkspaceInModels } from '../admin/workspaces';
import { eraseContents } from '../chat/erased-subjects';
import { models } from '../models/models';
import { modelAnswers } from '../models/model-answers';
import { budgetReached, modelUseCounted } from '../models/use';
import { type App, nothing } from './app';

export const modelsApp: App = {
  ...nothing,
  serves: models,
  servesByInstance: [modelAnswers.control],
  publishes: [budgetReached, modelUseCounted, usageChanged],
  consumes: [dropWorkspaceInModels, eraseBotInModels, eraseContents, keepBudget],
  broadcasts: [modelAnswers.frames],
};
