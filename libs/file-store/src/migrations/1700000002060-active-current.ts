import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A retry that fails keeps the passages of the same content searchable. */
export class ActiveCurrent1700000002060 implements MigrationInterface {
  /**
   * Files that are being indexed count as not current, since they may have new content or a retry. A constant default
   * rewrites no rows.
   */
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE file
        -- Whether active_version was made from the current content: its bytes, or the passages that were set.
        ADD COLUMN is_active_current boolean NOT NULL DEFAULT true;
      ALTER TABLE file ALTER COLUMN is_active_current SET DEFAULT false;
      UPDATE file SET is_active_current = false WHERE status = 'indexing_pending';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE file DROP COLUMN is_active_current');
  }
}
