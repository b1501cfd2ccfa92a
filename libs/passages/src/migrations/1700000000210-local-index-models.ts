import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the model to the primary key, so that a passage can have points of the current and the next model. */
export class LocalIndexModels1700000000210 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE local_index_point
        DROP CONSTRAINT local_index_point_pkey,
        ADD CONSTRAINT local_index_point_pkey PRIMARY KEY (bot_id, id, model);
    `);
  }

  /** Keeps the point that was written first when a passage has points of two models. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM local_index_point point USING local_index_point earlier
        WHERE earlier.bot_id = point.bot_id AND earlier.id = point.id
          AND (earlier.revision, earlier.model) < (point.revision, point.model);
      ALTER TABLE local_index_point
        DROP CONSTRAINT local_index_point_pkey,
        ADD CONSTRAINT local_index_point_pkey PRIMARY KEY (bot_id, id);
    `);
  }
}
