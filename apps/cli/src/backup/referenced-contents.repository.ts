import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';

const pageSize = 1_000;

/** Contents that the database refers to. */
export class ReferencedContentsRepository {
  constructor(private readonly client: Client) {}

  /** Keys of contents that are missing in the folder. The folder must not change meanwhile. */
  async listMissingIn(folder: string): Promise<string[]> {
    // The schema does not exist until the first start has finished.
    const { rows } = await this.client.query<{ there: boolean }>(
      `SELECT to_regclass('files.file') IS NOT NULL AS there`,
    );
    const missing: string[] = [];
    if (!rows[0]!.there) return missing;
    for (let after: string | undefined = ''; after !== undefined;) {
      // Primary key: id.
      const page: { id: string; key: string | null }[] = (
        await this.client.query<{ id: string; key: string | null }>(
          `SELECT id, bot_id || '/' || id || '/' || blob_version AS key FROM files.file WHERE id > $1 ORDER BY id LIMIT $2`,
          [after, pageSize],
        )
      ).rows;
      for (const { key } of page) {
        if (key !== null && !(await isThere(join(folder, key)))) missing.push(key);
      }
      after = page.at(-1)?.id;
    }
    return missing;
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
