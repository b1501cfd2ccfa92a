import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, ForeignKey, Index, type QueryRunner, Unique } from 'typeorm';
import { schemaDifferences } from './schema-differences';

@Entity('shelf')
class ShelfEntity {
  @PrimaryIdColumn()
  id!: string;
}

@Entity('book')
@Check('book_pages_check', 'pages > 0')
@Unique(['shelf_id', 'title'])
@Index('book_created', ['shelf_id', 'created_at'])
@Index('book_lent', ['lent_to'], { where: 'lent_to IS NOT NULL' })
class BookEntity {
  @PrimaryIdColumn()
  id!: string;

  @IdColumn()
  @ForeignKey(() => ShelfEntity, { onDelete: 'CASCADE' })
  shelf_id!: string;

  @Column('text')
  title!: string;

  @Column('integer', { default: 1 })
  pages!: number;

  @Column('jsonb', { default: {} })
  tags!: Record<string, string>;

  @Column('text', { array: true, default: [] })
  authors!: string[];

  @Column('text', { nullable: true })
  lent_to!: string | null;

  @TimestampColumn()
  created_at!: Date;
}

const tables = `
  CREATE TABLE shelf (id text COLLATE "C" PRIMARY KEY);
  CREATE TABLE book (
    id text COLLATE "C" PRIMARY KEY,
    shelf_id text COLLATE "C" NOT NULL REFERENCES shelf ON DELETE CASCADE,
    title text NOT NULL,
    pages integer NOT NULL DEFAULT 1 CHECK (pages > 0),
    tags jsonb NOT NULL DEFAULT '{}',
    authors text[] NOT NULL DEFAULT '{}',
    lent_to text,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    UNIQUE (shelf_id, title)
  );
  CREATE INDEX book_created ON book (shelf_id, created_at);
  CREATE INDEX book_lent ON book (lent_to) WHERE lent_to IS NOT NULL;
`;

/** Differences when these statements follow the tables above. */
function differencesAfter(name: string, change: string): Promise<string[]> {
  const migrations = {
    [name]: class {
      up(runner: QueryRunner): Promise<unknown> {
        return runner.query(tables + change);
      }
    },
  };
  return schemaDifferences({
    schema: 'library',
    migrations: Object.values(migrations),
    entities: [ShelfEntity, BookEntity],
  });
}

it('finds no difference between equal tables', async () => {
  expect(await differencesAfter('Equal1700000000000', '')).toEqual([]);
});

it.each([
  ['a renamed column', 'Renamed1700000000001', 'ALTER TABLE book RENAME title TO name', 'title'],
  ['another type', 'Retyped1700000000002', 'ALTER TABLE book ALTER pages TYPE bigint', 'pages'],
  ['a missing NOT NULL', 'Nullable1700000000003', 'ALTER TABLE book ALTER title DROP NOT NULL', 'title'],
  ['a missing index', 'Unindexed1700000000004', 'DROP INDEX book_created', 'book_created'],
  ['an index more', 'Indexed1700000000005', 'CREATE INDEX book_title ON book (title)', 'book_title'],
  ['another default', 'Defaulted1700000000006', 'ALTER TABLE book ALTER pages SET DEFAULT 2', 'pages'],
  ['another collation', 'Collated1700000000007', 'ALTER TABLE shelf ALTER id TYPE text COLLATE "POSIX"', 'shelf'],
  ['a missing constraint', 'Unchecked1700000000008', 'ALTER TABLE book DROP CONSTRAINT book_pages_check', 'pages'],
  ['a missing foreign key', 'Alone1700000000009', 'ALTER TABLE book DROP CONSTRAINT book_shelf_id_fkey', 'shelf_id'],
  ['a table without an entity', 'More1700000000010', 'CREATE TABLE loan (id text PRIMARY KEY)', 'loan'],
])('finds a difference of %s', async (_what, name, change, mentioned) => {
  expect((await differencesAfter(name, change)).join('\n')).toContain(mentioned);
});
