import { deadLetterOperations } from '../dead-letters';

/** Everything that the hub service answers. */
export const hub = {
  deadLetters: deadLetterOperations('hub'),
};
