import type { KnowledgeBase, ListedKnowledgeBase } from '@parley/contracts/knowledge-bases';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Knowledge base of a bot. */
@Entity('knowledge_base')
@Index('knowledge_base_created', ['bot_id', 'created_at', 'id'])
export class KnowledgeBaseEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() bot_id!: string;
  @Column('text') name!: string;
  @Column('jsonb') tags!: Record<string, string>;
  @TimestampColumn() created_at!: Date;
}

export function toKnowledgeBase({ id, name, tags }: KnowledgeBaseEntity): KnowledgeBase {
  return { id, name, tags };
}

export function toListedKnowledgeBase(row: KnowledgeBaseEntity): ListedKnowledgeBase {
  return { ...toKnowledgeBase(row), createdAt: row.created_at.toISOString() };
}
