import { IsInt, IsString, Length, Matches, Max, Min } from 'class-validator';
import { chatUser } from '../access';
import { Nested, Optional } from '../fields';
import { IsMediaType } from '../media-type';
import { maxVisitorFileBytes, VisitorFile } from '../visitor-files';
import { operation } from '../operation';
import { ChatApiRequest } from '../chat-api/users';

export class CreateChatFile extends ChatApiRequest {
  @IsString() conversationId!: string;

  /** File name, with its extension. */
  @Matches(/^[^/\\]{1,200}$/, { message: '$property must be 1 to 200 characters without / and \\' }) name!: string;

  /** Bytes of the content to be uploaded. */
  @IsInt() @Min(1) @Max(maxVisitorFileBytes) size!: number;

  /** Media type. Derived from the extension of the name when absent. */
  @Optional() @IsString() @Length(1, 255) @IsMediaType() contentType?: string;
}

export class CreatedChatFile {
  @Nested(VisitorFile) file!: VisitorFile;
}

export const chatFiles = {
  create: operation({
    subject: 'chat.chatFiles.create',
    route: 'POST /chat/{webhookId}/files',
    summary:
      'Declares a file of a participant of a conversation, if the web chat of the bot accepts files. The content follows by HTTP PUT to `uploadUrl`.',
    access: chatUser,
    isOwn: true,
    input: CreateChatFile,
    output: CreatedChatFile,
    status: 201,
  }),
};
