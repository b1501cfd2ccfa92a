import { deadLetterOperations } from '../dead-letters';
import { interfaces, publicInterfaces } from './interfaces';

/** Everything that the hub service answers. */
export const hub = {
  deadLetters: deadLetterOperations('hub'),
  interfaces,
  publicInterfaces,
};
