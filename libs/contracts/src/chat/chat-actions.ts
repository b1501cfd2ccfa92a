import { IsIn, IsInt, IsString, MaxLength } from 'class-validator';
import { service } from '../access';
import { JsonObject, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';

/** Target of an action of the native chat. */
export class ChatActionTarget {
  @IsString() botId!: string;

  /** Alias of the chat installation that the conversation belongs to. */
  @IsString() alias!: string;

  @IsString() conversationId!: string;
}

export class SendChatEvent extends ChatActionTarget {
  @JsonObject() payload!: Record<string, unknown>;
}

export const streamSignalTypes = ['delta', 'abort'] as const;

/** Part of a message that is being written, or its end without a message. */
export class StreamSignal {
  @IsIn(streamSignalTypes) type!: (typeof streamSignalTypes)[number];
  @IsString() @MaxLength(200) streamId!: string;

  /** Position of a delta within its stream. */
  @Optional() @IsInt() sequence?: number;

  /** Text that a delta adds. */
  @Optional() @IsString() @MaxLength(100_000) delta?: string;
}

export class PublishMessageStream extends ChatActionTarget {
  @Nested(StreamSignal) signal!: StreamSignal;
}

export const chatActions = {
  sendEvent: operation({
    subject: 'chat.chatActions.sendEvent',
    summary: 'Sends an event of the bot to the listeners of a conversation.',
    access: service,
    input: SendChatEvent,
    output: Empty,
  }),
  publishMessageStream: operation({
    subject: 'chat.chatActions.publishMessageStream',
    summary: 'Sends a part of a message that is being written to the listeners of a conversation.',
    access: service,
    input: PublishMessageStream,
    output: Empty,
  }),
};
