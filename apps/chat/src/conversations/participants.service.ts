import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import {
  type AddParticipant,
  type ListParticipants,
  type ParticipantId,
  type ParticipantReply,
  type Participants,
  participants as operations,
} from '@parley/contracts/chat/conversations';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { aliasOf } from '../queries/scope';
import { participantData } from '../signals/signal.entity';
import { SignalsService } from '../signals/signals.service';
import { toUser, type UserEntity } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { ConversationsService } from './conversations.service';
import { ParticipantsRepository } from './participants.repository';

type Named = Pick<UserEntity, 'bot_id' | 'id' | 'foreign_id'>;

@Injectable()
export class ParticipantsService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly conversations: ConversationsService,
    private readonly participants: ParticipantsRepository,
    private readonly users: UsersRepository,
    private readonly signals: SignalsService,
  ) {}

  async list(caller: BotCaller, { id, ...query }: ListParticipants): Promise<Participants> {
    await this.conversations.find(caller, id);
    const { rows, nextToken } = await this.participants.listParticipants(caller.bot.id, id, query);
    return { participants: rows.map((row) => toUser(caller, row)), meta: { nextToken } };
  }

  async add(caller: BotCaller, input: AddParticipant): Promise<ParticipantReply> {
    const known = await this.idempotency.find<ParticipantReply>(caller, operations.add, input);
    if (known) return known;
    const { id, userId } = input;
    if (userId === caller.bot.id)
      throw new ApiError('InvalidPayload', 'userId must not be the bot: the bot takes part in every conversation.');
    const conversation = await this.conversations.find(caller, id);
    const user =
      (await this.users.findUserById({ botId: caller.bot.id, alias: aliasOf(caller) }, userId)) ??
      (await this.participants.findParticipant(caller.bot.id, id, userId));
    if (!user) throw unknownUser(userId);
    return this.idempotency.run(caller, operations.add, input, async (tx) => {
      await this.joinIn(tx, conversation, user);
      return { participant: toUser(caller, user) };
    });
  }

  async get(caller: BotCaller, { id, userId }: ParticipantId): Promise<ParticipantReply> {
    await this.conversations.find(caller, id);
    const user = await this.participants.findParticipant(caller.bot.id, id, userId);
    if (!user) throw notFound('participant', userId);
    return { participant: toUser(caller, user) };
  }

  async remove(caller: BotCaller, { id, userId }: ParticipantId): Promise<object> {
    const conversation = await this.conversations.find(caller, id);
    const user = await this.participants.findParticipant(caller.bot.id, id, userId);
    if (!user || !(await this.leave(conversation, user))) throw notFound('participant', userId);
    return {};
  }

  /** Sends the signal participant_added, unless the user is a participant already. */
  join(conversation: Named, user: Named): Promise<void> {
    return this.database.transaction((tx) => this.joinIn(tx, conversation, user));
  }

  /** Sends the signal participant_removed and closes the user's streams. False if the user was not a participant. */
  leave(conversation: Named, user: Named): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const { bot_id, id } = conversation;
      await this.signals.lockClock(tx, bot_id, id);
      if (!(await this.participants.deleteParticipant(tx, bot_id, id, user.id))) return false;
      const data = participantData(conversation, user);
      await this.signals.add(tx, bot_id, id, [{ type: 'participant_removed', data, closes: user.id }]);
      return true;
    });
  }

  private async joinIn(tx: Transaction, conversation: Named, user: Named): Promise<void> {
    const { bot_id, id } = conversation;
    if (!(await this.signals.lockClock(tx, bot_id, id))) throw notFound('conversation', id);
    if (!(await this.users.lockUserAgainstDeletion(tx, bot_id, user.id))) throw unknownUser(user.id);
    if (!(await this.participants.insertParticipant(tx, bot_id, id, user.id))) return;
    await this.signals.add(tx, bot_id, id, [{ type: 'participant_added', data: participantData(conversation, user) }]);
  }
}

function unknownUser(id: string): ApiError {
  return new ApiError('ReferenceNotFound', `userId "${id}" is not a user of this bot.`);
}
