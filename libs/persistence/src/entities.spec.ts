import { BreakableLink } from '@parley/testing/breakable-link';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { Client } from 'pg';
import { Column, Entity, In } from 'typeorm';
import { PrimaryIdColumn, TimestampColumn } from './columns';
import { Database, type Sql } from './database';
import { isUniqueViolation } from './errors';

@Entity('lamp')
class LampEntity {
  @PrimaryIdColumn()
  id!: string;

  @Column('bigint', { default: 0 })
  watts!: string;

  @Column('jsonb', { default: {} })
  tags!: unknown;

  @Column('text', { nullable: true })
  note!: string | null;

  @TimestampColumn()
  created_at!: Date;
}

const tables = `
  CREATE TABLE lamp (
    id text COLLATE "C" PRIMARY KEY,
    watts bigint NOT NULL DEFAULT 0,
    tags jsonb NOT NULL DEFAULT '{}',
    note text,
    created_at timestamptz(3) NOT NULL DEFAULT now()
  );
`;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase(tables, 'home', [LampEntity]);
});

beforeEach(() => test.database.query('DELETE FROM lamp'));

afterAll(() => test.drop());

const insert = (sql: Sql, id: string) => sql.manager.insert(LampEntity, { id });
const find = (sql: Sql, id: string) => sql.manager.findOneBy(LampEntity, { id });

describe('An entity', () => {
  it('reads the values of an entity as SQL does', async () => {
    const { database } = test;
    await database.manager.insert(LampEntity, {
      id: 'a',
      watts: '9007199254740993',
      tags: ['x', null, 'y'],
      note: null,
    });

    const [row] = await database.query('SELECT * FROM lamp');
    const entity = await find(database, 'a');

    expect({ ...entity }).toEqual(row);
    expect(row).toMatchObject({ watts: '9007199254740993', tags: ['x', null, 'y'], created_at: expect.any(Date) });
  });

  it.each([['text'], [7], [{ a: null }], [[]]])('keeps the JSON value %j of an entity', async (tags) => {
    await test.database.manager.insert(LampEntity, { id: 'a', tags: tags as object });

    await expect(find(test.database, 'a')).resolves.toMatchObject({ tags });
  });

  it('changes and deletes an entity by key, and returns the number of rows', async () => {
    const { manager } = test.database;
    await insert(test.database, 'a');

    const changed = await manager.update(LampEntity, { id: 'a' }, { note: 'new', watts: '3' });
    const missed = await manager.update(LampEntity, { id: 'b' }, { note: 'new' });
    const entity = await find(test.database, 'a');
    const deleted = await manager.delete(LampEntity, { id: 'a', watts: '3' });

    expect([changed.affected, missed.affected, deleted.affected]).toEqual([1, 0, 1]);
    expect(entity).toMatchObject({ note: 'new', watts: '3', tags: {} });
    await expect(find(test.database, 'a')).resolves.toBeNull();
  });

  it.each([
    [undefined, 'Undefined value'],
    [null, 'Null value'],
  ])('refuses to find, change or delete an entity by a key that is %s', async (id, message) => {
    const { manager } = test.database;
    await insert(test.database, 'a');
    const nothing = { id, watts: '0' } as { id?: string };

    await expect(manager.find(LampEntity, { where: nothing })).rejects.toThrow(message);
    await expect(manager.findOneBy(LampEntity, nothing)).rejects.toThrow(message);
    await expect(manager.existsBy(LampEntity, nothing)).rejects.toThrow(message);
    await expect(manager.countBy(LampEntity, nothing)).rejects.toThrow(message);
    await expect(manager.update(LampEntity, nothing, { note: 'new' })).rejects.toThrow(message);
    await expect(manager.delete(LampEntity, nothing)).rejects.toThrow(message);
    await expect(manager.delete(LampEntity, {})).rejects.toThrow('Empty criteria');
    await expect(find(test.database, 'a')).resolves.toMatchObject({ note: null });
  });

  it('finds an entity by a selection with a column that is never null', async () => {
    const { manager } = test.database;
    await insert(test.database, 'a');
    const where = { id: 'a' };

    await expect(manager.find(LampEntity, { select: { id: true, note: true }, where })).resolves.toEqual([
      { id: 'a', note: null },
    ]);
    // TypeORM drops a row without values, whatever its key.
    await expect(manager.find(LampEntity, { select: { note: true }, where })).resolves.toEqual([]);
  });

  it('sends one statement for each call of an entity', async () => {
    const { manager } = test.database;
    const send = jest.spyOn(Client.prototype, 'query');
    const both = { id: In(['a', 'b']) };

    await manager.insert(LampEntity, [{ id: 'a' }, { id: 'b' }]);
    await manager.find(LampEntity, { select: { id: true }, where: both, order: { id: 'DESC' } });
    await manager.existsBy(LampEntity, both);
    await manager.countBy(LampEntity, both);
    await manager.update(LampEntity, both, { note: 'new' });
    await manager.delete(LampEntity, both);

    const texts = send.mock.calls.map(([statement]) => statement);
    send.mockRestore();
    expect(texts.map((text) => text.split(' ')[0])).toEqual([
      'INSERT',
      'SELECT',
      'SELECT',
      'SELECT',
      'UPDATE',
      'DELETE',
    ]);
  });

  it('writes an entity in the transaction of its manager', async () => {
    const failed = test.database.transaction(async (tx) => {
      await insert(tx, 'a');
      await expect(find(tx, 'a')).resolves.toMatchObject({ id: 'a' });
      await expect(find(test.database, 'a')).resolves.toBeNull();
      throw new Error('No.');
    });

    await expect(failed).rejects.toThrow('No.');
    await expect(find(test.database, 'a')).resolves.toBeNull();
    await test.database.transaction((tx) => insert(tx, 'b'));
    await expect(find(test.database, 'b')).resolves.toMatchObject({ id: 'b' });
  });
});

describe('A statement of an entity', () => {
  it('throws the error of Postgres for an entity, as SQL does', async () => {
    await insert(test.database, 'a');

    const again = await insert(test.database, 'a').catch((error: unknown) => error);
    const inside = await test.database.transaction((tx) => insert(tx, 'a')).catch((error: unknown) => error);

    expect([again, inside].map((error) => isUniqueViolation(error, 'lamp_pkey'))).toEqual([true, true]);
  });

  it('returns the connection of a statement of an entity, also after an error', async () => {
    await insert(test.database, 'a');
    for (let i = 0; i < 10; i++) await insert(test.database, 'a').catch(() => undefined);

    await expect(find(test.database, 'a')).resolves.toMatchObject({ id: 'a' });
    expect(test.database.use).toMatchObject({ inUse: 0 });
  });

  it('rejects a statement of an entity at once when too many callers wait', async () => {
    const shed = jest.fn();
    const database = await Database.open({
      url: test.url,
      schema: 'home',
      migrations: [],
      entities: [LampEntity],
      poolSize: 1,
      maxWaiting: 1,
      onShed: shed,
    });

    const results = await Promise.allSettled([1, 2, 3, 4].map((i) => insert(database, `lamp ${i}`)));

    const rejected = results.filter(({ status }) => status === 'rejected');
    expect(rejected).not.toHaveLength(0);
    for (const { reason } of rejected as PromiseRejectedResult[]) expect(reason).toMatchObject({ code: 503 });
    expect(shed).toHaveBeenCalledTimes(rejected.length);
    await database.close();
  });

  it('distinguishes a change of an entity that may have been committed from one that was not', async () => {
    const link = await BreakableLink.to(test.url);
    const database = await Database.open({
      url: link.url,
      schema: 'home',
      migrations: [],
      entities: [LampEntity],
      poolSize: 1,
      statementTimeoutMs: 200,
      connectTimeoutMs: 300,
    });
    link.state = 'swallows answers';

    await expect(insert(database, 'a')).rejects.toMatchObject({ type: 'OperationTimeout', code: 504 });
    await expect(find(database, 'a')).rejects.toMatchObject({ code: 503 });

    await database.close();
    await link.stop();
  });
});
