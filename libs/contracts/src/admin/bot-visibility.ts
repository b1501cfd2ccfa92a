import { IsString } from 'class-validator';
import { service } from '../access';
import { operation } from '../operation';
import { Empty } from '../paging';

export class RequireVisibleBot {
  @IsString() botId!: string;
}

export const botVisibility = {
  require: operation({
    subject: 'admin.botVisibility.require',
    summary: 'Throws ResourceNotFound unless the bot is in the workspace of the caller, who may see it.',
    access: service,
    input: RequireVisibleBot,
    output: Empty,
  }),
};
