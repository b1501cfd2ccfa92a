import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';

@Injectable()
export class LinkScriptsRepository {
  constructor(private readonly database: Database) {}

  /** Undefined without a version, a configuration of this type, or a script. Primary key. */
  async findScript(integrationId: string, configurationType: string | null): Promise<string | undefined> {
    const [row] = await this.database.query<{ script: string | null }>(
      `SELECT configuration -> 'identifier' ->> 'linkTemplateScript' AS script FROM integration, LATERAL (
         SELECT CASE WHEN $2::text IS NULL THEN definition -> 'configuration'
           ELSE definition -> 'configurations' -> $2 END AS configuration) AS chosen
       WHERE id = $1`,
      [integrationId, configurationType],
    );
    return row?.script || undefined;
  }
}
