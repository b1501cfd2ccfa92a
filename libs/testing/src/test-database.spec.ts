import type { MigrationInterface, QueryRunner } from 'typeorm';
import { Client } from 'pg';
import { createEmptyDatabase, createTestDatabase } from './test-database';

class Things1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE things.thing (name text PRIMARY KEY)');
  }

  async down(): Promise<void> {}
}

it('gives each suite a migrated database of its own', async () => {
  const databases = await Promise.all([1, 2, 3].map(() => createTestDatabase([Things1700000000000], 'things')));

  try {
    await databases[0]!.database.query('INSERT INTO thing VALUES ($1)', ['mine']);

    await expect(databases[1]!.database.query('SELECT name FROM thing')).resolves.toEqual([]);
    await expect(databases[2]!.database.pendingMigrations()).resolves.toEqual([]);
  } finally {
    await Promise.all(databases.map((each) => each.drop()));
  }
});

it('drops a database that still has connections', async () => {
  const { url, drop } = await createEmptyDatabase();
  const client = new Client({ connectionString: url });
  const broken = new Promise<Error>((resolve) => client.on('error', resolve));
  await client.connect();

  await drop();

  await expect(broken).resolves.toMatchObject({ code: '57P01' });
  await expect(new Client({ connectionString: url }).connect()).rejects.toMatchObject({ code: '3D000' });
});
