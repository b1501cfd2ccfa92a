import { deadLetterOperations } from '../dead-letters';
import { workOperations } from '../work';
import { cognitive } from './cognitive';
import { countLeftovers } from './leftovers';
import { modelActions } from './model-actions';
import { openAi } from './openai';
import { texts } from './texts';

export const models = {
  cognitive,
  openAi,
  actions: modelActions,
  texts,
  countLeftovers,
  deadLetters: deadLetterOperations('models'),
  work: workOperations('models'),
};
