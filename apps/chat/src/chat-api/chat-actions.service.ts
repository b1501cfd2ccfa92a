import { Injectable } from '@nestjs/common';
import type { ChatActionTarget, PublishMessageStream, SendChatEvent } from '@parley/contracts/chat/chat-actions';
import { notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import type { Signal } from '../signals/signal.entity';
import { SignalsService } from '../signals/signals.service';
import { ChatApiRepository } from './chat-api.repository';
import { shownId } from './chat-objects';

/** Actions of the native chat: a bot speaks to the listeners of a conversation. */
@Injectable()
export class ChatActionsService {
  constructor(
    private readonly database: Database,
    private readonly repository: ChatApiRepository,
    private readonly signals: SignalsService,
  ) {}

  /** Listeners get the event without an id: it is not stored as an event of the bot. */
  async sendEvent({ payload, ...target }: SendChatEvent): Promise<object> {
    return this.signal(target, (shared) => ({
      type: 'event_created',
      data: { id: null, ...shared, payload, isBot: true },
    }));
  }

  async publishMessageStream({ signal, ...target }: PublishMessageStream): Promise<object> {
    const { streamId, type, sequence = 0, delta = '' } = signal;
    return this.signal(target, ({ conversationId, ...shared }) =>
      type === 'abort'
        ? { type: 'message_stream_abort', data: { streamId, conversationId } }
        : { type: 'message_stream_delta', data: { streamId, conversationId, ...shared, sequence, delta } },
    );
  }

  private async signal(
    target: ChatActionTarget,
    signalOf: (shared: { conversationId: string; userId: string; createdAt: string }) => Signal,
  ): Promise<object> {
    const { botId, conversationId } = target;
    const conversation = await this.repository.findConversation(target);
    if (!conversation) throw notFound('conversation', conversationId);
    const createdAt = new Date().toISOString();
    const signal = signalOf({ conversationId: shownId(conversation), userId: botId, createdAt });
    await this.database.transaction((tx) => this.signals.add(tx, botId, conversation.id, [signal]));
    return {};
  }
}
