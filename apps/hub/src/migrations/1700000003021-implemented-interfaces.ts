import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ImplementedInterfaces1700000003021 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Restricts the deletion of an interface that an integration implements.
      ALTER TABLE integration_interface ADD CONSTRAINT integration_interface_interface
        FOREIGN KEY (interface_id) REFERENCES interface;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE integration_interface DROP CONSTRAINT integration_interface_interface');
  }
}
