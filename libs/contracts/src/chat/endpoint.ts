import { chatVisitor } from '../access';
import { operation } from '../operation';
import { Empty } from '../paging';
import { endpointConversations } from './endpoint-conversations';
import { endpointMessages } from './endpoint-messages';
import { ChatEndpoint, endpointUsers } from './endpoint-users';

/** What end users' clients ask of a bot, each operation under the name that they know. */
export const endpoint = {
  hello: operation({
    subject: 'chat.endpoint.hello',
    route: 'GET /chat/{webhookId}/hello',
    summary: 'Says that this is the chat endpoint of a bot.',
    access: chatVisitor,
    input: ChatEndpoint,
    output: Empty,
  }),
  /** As clients ask it before their first call. */
  helloWithSlash: operation({
    subject: 'chat.endpoint.helloWithSlash',
    route: 'GET /chat/{webhookId}/hello/',
    summary: 'Says that this is the chat endpoint of a bot.',
    access: chatVisitor,
    input: ChatEndpoint,
    output: Empty,
  }),
  ...endpointUsers,
  ...endpointConversations,
  ...endpointMessages,
};
