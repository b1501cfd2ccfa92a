import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { ListFilePassages, Passage, PassageSubtype, PassageType } from '@parley/contracts/passages';
import { Database, type Sql } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { In, Not, Repository } from 'typeorm';
import type { FileRef } from './file.entity';
import { PassageEntity } from './passage.entity';

export interface NewPassage {
  position: number;
  content: string;
  /** Default: `chunk`. */
  type?: PassageType;
  subtype: PassageSubtype;
  pageNumber?: number;
  isRecognised?: boolean;
  breadcrumb: string[];
}

type PassageRow = Pick<
  PassageEntity,
  'id' | 'position' | 'content' | 'type' | 'subtype' | 'page_number' | 'is_recognised'
>;

export interface ContentVersion extends FileRef {
  contentVersion: string;
}

const documentOrder = new Keyset<PassageRow>([{ sql: 'position', type: 'int8', of: (row) => row.position }], 'asc');

/** Deterministic UUID (version 8) of file, content version and position: writing a passage twice replaces it. */
export function passageId(fileId: string, contentVersion: string, position: number): string {
  const hex = createHash('sha256').update(`${fileId}/${contentVersion}/${position}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

@Injectable()
export class PassagesRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(PassageEntity) private readonly passages: Repository<PassageEntity>,
  ) {}

  /** Idempotent. One statement for any number of passages. */
  async upsertPassages(
    { botId, fileId, contentVersion }: ContentVersion,
    passages: NewPassage[],
    sql: Sql = this.database,
  ): Promise<void> {
    const rows = passages.map(
      ({ position, content, type = 'chunk', subtype, pageNumber, isRecognised = false, breadcrumb }) => ({
        position,
        id: passageId(fileId, contentVersion, position),
        content,
        type,
        subtype,
        page_number: pageNumber ?? null,
        is_recognised: isRecognised,
        breadcrumb,
      }),
    );
    await sql.query(
      `INSERT INTO passage (file_id, content_version, bot_id, position, id, content, type, subtype, page_number,
         is_recognised, breadcrumb)
       SELECT $1, $2, $3, position, id, content, type, subtype, page_number, is_recognised, breadcrumb
       FROM jsonb_to_recordset($4::jsonb) AS entry (position integer, id uuid, content text, type text, subtype text,
         page_number integer, is_recognised boolean, breadcrumb text[])
       ON CONFLICT (file_id, content_version, position) DO UPDATE SET
         content = excluded.content, type = excluded.type, subtype = excluded.subtype, page_number = excluded.page_number,
         is_recognised = excluded.is_recognised, breadcrumb = excluded.breadcrumb`,
      [fileId, contentVersion, botId, JSON.stringify(rows)],
    );
  }

  /** Passages of the active version, in document order. Index: the primary key. */
  async listOfActiveVersion(
    fileId: string,
    activeVersion: string,
    query: ListFilePassages,
  ): Promise<{ passages: Passage[]; nextToken?: string }> {
    const limit = pageSize(query);
    const values: unknown[] = [fileId, activeVersion];
    const boundTo = [fileId, activeVersion];
    const found = await this.database.query<PassageRow>(
      `SELECT id, position, content, type, subtype, page_number, is_recognised FROM passage
       WHERE file_id = $1 AND content_version = $2 AND ${documentOrder.after(query.nextToken, boundTo, values)}
       ORDER BY ${documentOrder.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    const { rows, nextToken } = documentOrder.page(found, limit, boundTo);
    return { passages: rows.map(toPassage), nextToken };
  }

  async countOfVersion({ fileId, contentVersion }: ContentVersion): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM passage WHERE file_id = $1 AND content_version = $2',
      [fileId, contentVersion],
    );
    return row!.count;
  }

  /** Passages from position `start` on. Index: the primary key. */
  listFromPosition({ fileId, contentVersion }: ContentVersion, start: number, limit: number): Promise<NewPassage[]> {
    return this.database.query<NewPassage>(
      `SELECT position, content, type, subtype, page_number AS "pageNumber",
         is_recognised AS "isRecognised", breadcrumb FROM passage
       WHERE file_id = $1 AND content_version = $2 AND position >= $3 ORDER BY position LIMIT $4`,
      [fileId, contentVersion, start, limit],
    );
  }

  listAllOfVersion(tx: Sql, { fileId, contentVersion }: ContentVersion): Promise<NewPassage[]> {
    return tx.query<NewPassage>(
      `SELECT position, content, type, subtype, page_number AS "pageNumber",
         is_recognised AS "isRecognised", breadcrumb FROM passage
       WHERE file_id = $1 AND content_version = $2 ORDER BY position`,
      [fileId, contentVersion],
    );
  }

  async deleteVersion({ fileId, contentVersion }: ContentVersion): Promise<boolean> {
    const { affected } = await this.passages.delete({ file_id: fileId, content_version: contentVersion });
    return affected !== 0;
  }

  async deleteOtherVersions(sql: Sql, fileId: string, keptVersions: string[]): Promise<void> {
    await sql.manager.delete(PassageEntity, { file_id: fileId, content_version: Not(In(keptVersions)) });
  }
}

function toPassage({ id, content, type, subtype, page_number, is_recognised, position }: PassageRow): Passage {
  const ocr = is_recognised || undefined;
  return { id, content, meta: { type, subtype, pageNumber: page_number ?? undefined, ocr, position } };
}
