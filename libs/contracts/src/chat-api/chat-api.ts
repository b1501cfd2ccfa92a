import { chatVisitor } from '../access';
import { operation } from '../operation';
import { Empty } from '../paging';
import { chatApiConversations } from './conversations';
import { chatApiMessages } from './messages';
import { ChatApiRequest, chatApiUsers } from './users';

/** Operations of the chat API, by the method names of its public client. */
export const chatApi = {
  hello: operation({
    subject: 'chat.endpoint.hello',
    route: 'GET /chat/{webhookId}/hello',
    summary: 'Checks that a webhook id belongs to the chat endpoint of a bot.',
    access: chatVisitor,
    input: ChatApiRequest,
    output: Empty,
  }),
  /** Route with a trailing slash, which clients request before their first call. */
  helloWithSlash: operation({
    subject: 'chat.endpoint.helloWithSlash',
    route: 'GET /chat/{webhookId}/hello/',
    summary: 'Checks that a webhook id belongs to the chat endpoint of a bot.',
    access: chatVisitor,
    input: ChatApiRequest,
    output: Empty,
  }),
  ...chatApiUsers,
  ...chatApiConversations,
  ...chatApiMessages,
};
