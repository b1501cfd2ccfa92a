import { IsString } from 'class-validator';
import { service } from '../access';
import { operation } from '../operation';
import { ChatEndpoint } from './endpoint-users';

/** Whose chat a request goes to. */
export class ChatPlace {
  @IsString()
  botId!: string;
}

export const callers = {
  verify: operation({
    subject: 'chat.callers.verify',
    summary:
      'Says that a chat endpoint is there and, of a caller with a user key, that the key is good for it: before a body is read.',
    access: service,
    input: ChatEndpoint,
    output: ChatPlace,
  }),
};
