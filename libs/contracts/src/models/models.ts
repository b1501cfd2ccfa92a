import { deadLetterOperations } from '../dead-letters';
import { sealedTextOperations } from '../sealed-texts';
import { workOperations } from '../work';
import { modelCalls } from './calls';
import { cognitive } from './cognitive';
import { modelContents } from './contents';
import { countLeftovers } from './leftovers';
import { media } from './media';
import { modelActions } from './model-actions';
import { openAi } from './openai';
import { providers } from './providers';
import { texts } from './texts';

export const models = {
  calls: modelCalls,
  cognitive,
  contents: modelContents,
  media,
  openAi,
  actions: modelActions,
  texts,
  countLeftovers,
  providers,
  sealedTexts: sealedTextOperations('models'),
  deadLetters: deadLetterOperations('models'),
  work: workOperations('models'),
};
