import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { CreateKnowledgeBase, ListKnowledgeBases } from '@parley/contracts/knowledge-bases';
import { KnowledgeBaseEntity } from '../store/knowledge-base.entity';
import { Database, type Sql } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { mergedJson, tagConditions } from '@parley/persistence/tags';
import { Repository } from 'typeorm';

const newestFirst = new Keyset<KnowledgeBaseEntity>([
  { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
  { sql: 'id', type: 'text', of: (row) => row.id },
]);

@Injectable()
export class KnowledgeBasesRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(KnowledgeBaseEntity) private readonly bases: Repository<KnowledgeBaseEntity>,
  ) {}

  /** Undefined when the bot was deleted. */
  async insertKnowledgeBase(
    sql: Sql,
    botId: string,
    { name, tags = {} }: CreateKnowledgeBase,
  ): Promise<KnowledgeBaseEntity | undefined> {
    const [row] = await sql.query<KnowledgeBaseEntity>(
      `INSERT INTO knowledge_base (id, bot_id, name, tags)
       SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM deleted_bot WHERE bot_id = $2) RETURNING *`,
      [newId('kb'), botId, name, JSON.stringify(tags)],
    );
    return row;
  }

  /** Index knowledge_base_created. */
  async listByTags(botId: string, query: ListKnowledgeBases) {
    const limit = pageSize(query);
    const boundTo = [botId, query.tags];
    const values: unknown[] = [botId];
    const rows = await this.database.query<KnowledgeBaseEntity>(
      `SELECT * FROM knowledge_base
       WHERE bot_id = $1 AND ${tagConditions('tags', query.tags, values)}
         AND ${newestFirst.after(query.nextToken, boundTo, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }

  async updateKnowledgeBase(
    sql: Sql,
    botId: string,
    id: string,
    name: string,
    tags: Record<string, string | null>,
  ): Promise<KnowledgeBaseEntity | undefined> {
    const [row] = await sql.query<KnowledgeBaseEntity>(
      `UPDATE knowledge_base SET name = $3, tags = ${mergedJson('tags', '$4')} WHERE bot_id = $1 AND id = $2 RETURNING *`,
      [botId, id, name, JSON.stringify(tags)],
    );
    return row;
  }

  async deleteKnowledgeBase(botId: string, id: string): Promise<boolean> {
    const { affected } = await this.bases.delete({ id, bot_id: botId });
    return affected === 1;
  }
}
