import { deadLetterOperations } from '../dead-letters';
import { workOperations } from '../work';
import { cognitive } from './cognitive';
import { countLeftovers } from './leftovers';
import { modelActions } from './model-actions';
import { openAi } from './openai';

export const models = {
  cognitive,
  openAi,
  actions: modelActions,
  countLeftovers,
  deadLetters: deadLetterOperations('models'),
  work: workOperations('models'),
};
