import { deadLetterOperations } from '../dead-letters';
import { integrations } from './integrations';
import { resolution } from './resolution';

/** Everything that the hub service answers. */
export const hub = {
  deadLetters: deadLetterOperations('hub'),
  integrations,
  resolution: { integrations: resolution.integrations },
};
