import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { ListFilePassages, Passage, PassageSubtype } from '@parley/contracts/passages';
import { Database, type Sql } from '@parley/database/database';
import { Keyset, pageSize } from '@parley/database/keyset';
import type { FileRef } from './file.entity';

interface NewPassage {
  position: number;
  content: string;
  subtype: PassageSubtype;
  pageNumber?: number;
  breadcrumb: string[];
}

interface PassageRow {
  id: string;
  position: number;
  content: string;
  subtype: PassageSubtype;
  page_number: number | null;
}

export interface ContentVersion extends FileRef {
  contentVersion: string;
}

const documentOrder = new Keyset<PassageRow>([{ sql: 'position', type: 'int8', of: (row) => row.position }], 'asc');

/** A UUID (version 8) that follows from file, content and place: writing a passage twice writes the same one. */
export function passageId(fileId: string, contentVersion: string, position: number): string {
  const hex = createHash('sha256').update(`${fileId}/${contentVersion}/${position}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

@Injectable()
export class PassagesRepository {
  constructor(private readonly database: Database) {}

  /** One statement for any number of passages; repeating it changes nothing. */
  async write({ botId, fileId, contentVersion }: ContentVersion, passages: NewPassage[]): Promise<void> {
    const rows = passages.map(({ position, content, subtype, pageNumber, breadcrumb }) => ({
      position,
      id: passageId(fileId, contentVersion, position),
      content,
      subtype,
      page_number: pageNumber ?? null,
      breadcrumb,
    }));
    await this.database.query(
      `INSERT INTO passage (file_id, content_version, bot_id, position, id, content, subtype, page_number, breadcrumb)
       SELECT $1, $2, $3, position, id, content, subtype, page_number, breadcrumb
       FROM jsonb_to_recordset($4::jsonb)
         AS entry (position integer, id uuid, content text, subtype text, page_number integer, breadcrumb text[])
       ON CONFLICT (file_id, content_version, position) DO UPDATE SET
         content = excluded.content, subtype = excluded.subtype, page_number = excluded.page_number,
         breadcrumb = excluded.breadcrumb`,
      [fileId, contentVersion, botId, JSON.stringify(rows)],
    );
  }

  /** The passages that readers see, in the order of the document. Index: the primary key. */
  async list(
    fileId: string,
    activeVersion: string,
    query: ListFilePassages,
  ): Promise<{ passages: Passage[]; nextToken?: string }> {
    const limit = pageSize(query);
    const values: unknown[] = [fileId, activeVersion];
    const boundTo = [fileId, activeVersion];
    const found = await this.database.query<PassageRow>(
      `SELECT id, position, content, subtype, page_number FROM passage
       WHERE file_id = $1 AND content_version = $2 AND ${documentOrder.after(query.nextToken, boundTo, values)}
       ORDER BY ${documentOrder.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    const { rows, nextToken } = documentOrder.page(found, limit, boundTo);
    return { passages: rows.map(toPassage), nextToken };
  }

  async deleteExcept(sql: Sql, fileId: string, keptVersions: string[]): Promise<void> {
    await sql.query('DELETE FROM passage WHERE file_id = $1 AND content_version <> ALL($2)', [fileId, keptVersions]);
  }
}

function toPassage({ id, content, subtype, page_number, position }: PassageRow): Passage {
  return { id, content, meta: { type: 'chunk', subtype, pageNumber: page_number ?? undefined, position } };
}
