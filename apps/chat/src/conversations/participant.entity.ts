import { PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Entity, Index } from 'typeorm';

/** Membership of a user in a conversation. */
@Entity('participant')
@Index('participant_joined', ['bot_id', 'conversation_id', 'joined_at', 'user_id'])
@Index('participant_user', ['bot_id', 'user_id', 'conversation_id'])
export class ParticipantEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() conversation_id!: string;
  @PrimaryIdColumn() user_id!: string;
  @TimestampColumn() joined_at!: Date;
}
