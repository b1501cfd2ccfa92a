import { deadLetterOperations } from '../dead-letters';
import { analytics } from './analytics';
import { chatActions } from './chat-actions';
import { chatFiles } from './chat-files';
import { callers } from './callers';
import { conversations, participants } from './conversations';
import { deliveries } from './deliveries';
import { chatApi } from '../chat-api/chat-api';
import { events } from './events';
import { incomingMessages } from './incoming-messages';
import { countLeftovers } from './leftovers';
import { messages } from './messages';
import { outgoingMessages } from './outgoing-messages';
import { signals } from './signals';
import { states } from './states';
import { tags } from './tags';
import { users } from './users';
import { workflows } from './workflows';
import { workAdded, workOperations } from '../work';

export const chatWorkAdded = workAdded('chat');

export const chat = {
  analytics,
  callers,
  chatActions,
  chatFiles,
  conversations,
  countLeftovers,
  deadLetters: deadLetterOperations('chat'),
  work: workOperations('chat'),
  deliveries,
  chatApi,
  events,
  incomingMessages,
  messages,
  outgoingMessages,
  participants,
  signals,
  states,
  tags,
  users,
  workflows,
};
