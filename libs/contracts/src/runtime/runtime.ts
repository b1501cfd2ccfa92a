import { deadLetterOperations } from '../dead-letters';
import { sealedTextOperations } from '../sealed-texts';
import { workAdded, workOperations } from '../work';
import { actions } from './actions';
import { deliveries } from './deliveries';
import { issues } from './issues';
import { countLeftovers } from './leftovers';
import { logs } from './logs';
import { pingBot } from './pings';
import { webhookRecordings } from './webhook-recordings';
import { webhooks } from './webhooks';

export const runtimeWorkAdded = workAdded('runtime');

export const runtime = {
  actions,
  countLeftovers,
  deadLetters: deadLetterOperations('runtime'),
  deliveries,
  issues,
  logs,
  pingBot,
  sealedTexts: sealedTextOperations('runtime'),
  webhookRecordings,
  webhooks,
  work: workOperations('runtime'),
};
