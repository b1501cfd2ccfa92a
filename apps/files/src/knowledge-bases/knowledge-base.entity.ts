import type { KnowledgeBase, ListedKnowledgeBase } from '@parley/contracts/knowledge-bases';

export interface KnowledgeBaseRow {
  id: string;
  bot_id: string;
  name: string;
  tags: Record<string, string>;
  created_at: Date;
}

export function toKnowledgeBase({ id, name, tags }: KnowledgeBaseRow): KnowledgeBase {
  return { id, name, tags };
}

export function toListedKnowledgeBase(row: KnowledgeBaseRow): ListedKnowledgeBase {
  return { ...toKnowledgeBase(row), createdAt: row.created_at.toISOString() };
}
