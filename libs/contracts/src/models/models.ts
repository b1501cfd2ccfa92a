import { deadLetterOperations } from '../dead-letters';
import { workOperations } from '../work';
import { cognitive } from './cognitive';
import { openAi } from './openai';

export const models = {
  cognitive,
  openAi,
  deadLetters: deadLetterOperations('models'),
  work: workOperations('models'),
};
