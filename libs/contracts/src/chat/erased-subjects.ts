import { IsString } from 'class-validator';
import { Optional } from '../fields';
import { consumer, event } from '../operation';

/** A conversation or a user was deleted: whoever holds data about it erases that. */
export class SubjectErased {
  @IsString() botId!: string;
  @Optional() @IsString() conversationId?: string;
  @Optional() @IsString() userId?: string;
}

export const subjectErased = event({ subject: 'chat.subjectErased', data: SubjectErased });

export const eraseLogs = consumer({ name: 'runtime.eraseLogs', event: subjectErased, concurrency: 4 });
export const eraseContents = consumer({ name: 'models.eraseContents', event: subjectErased, concurrency: 4 });
