import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A new try that fails leaves searchable what was made of the same content. */
export class ActiveCurrent1700000002060 implements MigrationInterface {
  /** Of what is under way nobody knows whether it is a new content or a new try. A default rewrites no rows. */
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE file
        -- Whether active_version was made of the bytes, or of the passages that were set, which the file holds now.
        ADD COLUMN is_active_current boolean NOT NULL DEFAULT true;
      ALTER TABLE file ALTER COLUMN is_active_current SET DEFAULT false;
      UPDATE file SET is_active_current = false WHERE status = 'indexing_pending';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE file DROP COLUMN is_active_current');
  }
}
