import { IsString } from 'class-validator';
import { service } from '../access';
import { operation } from '../operation';
import { ChatApiRequest } from '../chat-api/users';

export class ChatBot {
  @IsString() botId!: string;
}

export const callers = {
  verify: operation({
    subject: 'chat.callers.verify',
    summary:
      'Checks that the bot has a chat endpoint and that the user key of the caller, if any, is valid. Called before the body is read.',
    access: service,
    input: ChatApiRequest,
    output: ChatBot,
  }),
};
