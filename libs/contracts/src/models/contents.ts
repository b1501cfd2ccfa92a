import { IsBoolean, IsInt } from 'class-validator';
import { bot } from '../access';
import { operation } from '../operation';
import { Empty } from '../paging';

/** Prompts and answers are deleted after this time. */
export const keptContentDays = 7;

export class KeepContents {
  /** Whether prompts and answers of the bot's calls are kept. `false` deletes those that are. */
  @IsBoolean() kept!: boolean;
}

export class ContentSettings extends KeepContents {
  /** Days after which kept prompts and answers are deleted. */
  @IsInt() days!: number;
}

/** Prompts and answers of models, which are kept only on wish. */
export const modelContents = {
  get: operation({
    subject: 'models.contents.get',
    route: 'GET /v1/ai/contents',
    summary: 'Tells whether prompts and answers of the bot are kept. They are not, unless a person asks for it.',
    access: bot.read,
    isOwn: true,
    input: Empty,
    output: ContentSettings,
  }),
  set: operation({
    subject: 'models.contents.set',
    route: 'PUT /v1/ai/contents',
    summary: 'Keeps the prompts and answers of the bot from now on, encrypted, or ends that and deletes them.',
    access: bot.administer,
    isOwn: true,
    input: KeepContents,
    output: ContentSettings,
  }),
};
