import type { MigrationInterface } from 'typeorm';

/** A migration, run in its own transaction. Migrations are added and never edited; they are not reverted. */
export type Migration = Pick<MigrationInterface, 'up'>;

export type MigrationClass = new () => Migration;
export type EntityClass = new () => object;

/** Postgres schema of a service: its migrations in order of time, and an entity for each table. */
export interface ServiceSchema {
  schema: string;
  migrations: MigrationClass[];
  entities: EntityClass[];
}
