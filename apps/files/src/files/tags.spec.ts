import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { files } from '@parley/contracts/files';
import type { PageQuery } from '@parley/contracts/paging';
import { Database } from '@parley/persistence/database';
import { BotFiles } from '@parley/testing/bot-files';
import { type RunningService, startService } from '@parley/testing/running-service';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

let service: RunningService;
let blobsDir: string;
let sql: Database;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-tags-'));
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 5,
        blobsDir,
        contentUrl,
        secretKey: 's'.repeat(32),
        sweepIntervalMs: 3_600_000,
      }),
      platform,
    ),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
});
afterAll(async () => {
  await service?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const newBot = () => new BotFiles(service);
const tagged = (bot: BotFiles, key: string, tags: Record<string, string>) => bot.upsert({ key, size: 1, tags });

async function pages(list: (query: PageQuery) => Promise<[string[], string | undefined]>, limit: number) {
  const all: string[][] = [];
  let nextToken: string | undefined;
  do {
    const [page, next] = await list({ limit, nextToken });
    all.push(page);
    nextToken = next;
  } while (nextToken !== undefined);
  return all;
}

const namePages = (bot: BotFiles, limit = 200) =>
  pages(async (query) => {
    const { tags, meta } = await bot.ask(files.listTags, query);
    return [tags, meta.nextToken];
  }, limit);
const valuePages = (bot: BotFiles, tag: string, limit = 200) =>
  pages(async (query) => {
    const { values, meta } = await bot.ask(files.listTagValues, { tag, ...query });
    return [values, meta.nextToken];
  }, limit);
const names = async (bot: BotFiles, limit?: number) => (await namePages(bot, limit)).flat();
const values = async (bot: BotFiles, tag: string, limit?: number) => (await valuePages(bot, tag, limit)).flat();

/** An own property of this name, as JSON.parse creates it. */
const own = (name: string, value: string) =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as Record<string, string>;

const strange = [
  'a.b',
  "it's",
  '"quoted"',
  '100%',
  'a_b',
  '\\',
  'tag with spaces',
  '漢字',
  '🍎',
  '__proto__',
  'constructor',
];

describe('names of tags', () => {
  it('lists names of tags once each and in order, page by page', async () => {
    const bot = newBot();
    await tagged(bot, '1', { b: 'x', a: 'x', B: 'x' });
    await tagged(bot, '2', { b: 'y', c: 'x', a: 'x' });

    expect(await namePages(bot)).toEqual([['B', 'a', 'b', 'c']]);
    expect(await namePages(bot, 1)).toEqual([['B'], ['a'], ['b'], ['c']]);
    expect(await namePages(bot, 3)).toEqual([['B', 'a', 'b'], ['c']]);
  });

  it.each(strange)('accepts the tag name %s', async (name) => {
    const bot = newBot();
    await tagged(bot, 'file', own(name, 'value'));

    expect(await names(bot)).toEqual([name]);
    expect(await values(bot, name)).toEqual(['value']);
  });

  it('lists names of tags of the files of the bot that the caller may read', async () => {
    const bot = newBot();
    const [slack, ann] = [bot.byIntegration('slack'), bot.forUser('user_ann')];
    await tagged(newBot(), 'foreign', { foreign: 'x' });
    await tagged(bot, 'private', { private: 'x' });
    await tagged(slack, 'own', { slack: 'x' });
    await tagged(ann, 'own', { ann: 'x' });
    await bot.upsert({ key: 'shared', size: 1, tags: { shared: 'x' }, accessPolicies: ['integrations'] });
    await bot.upsert({ key: 'open', size: 1, tags: { open: 'x' }, accessPolicies: ['public_content'] });

    expect(await names(bot)).toEqual(['ann', 'open', 'private', 'shared', 'slack']);
    for (const limit of [1, 200]) {
      expect(await names(slack, limit)).toEqual(['shared', 'slack']);
      expect(await names(ann, limit)).toEqual(['ann', 'open']);
    }
    expect(await values(slack, 'private')).toEqual([]);
    expect(await values(slack, 'shared')).toEqual(['x']);
  });

  it('lists no names in a bot without tags', async () => {
    const bot = newBot();
    await tagged(bot, 'file', {});

    expect(await namePages(bot)).toEqual([[]]);
  });

  it('lists names of tags in order among thousands of files', async () => {
    const bot = newBot();
    await sql.query(
      `INSERT INTO file (id, bot_id, key, declared_size, content_type, tags, metadata, access_policies, index, indexing,
         immediately_public, upload_id, upload_expires_at, status)
       SELECT 'file_many' || n, $1, n, 1, 'text/plain',
         jsonb_build_object('name' || lpad((n % 500)::text, 3, '0'), 'value' || lpad((n % 700)::text, 3, '0'), 'all', 'v' || lpad((n % 300)::text, 3, '0')),
         '{}', '{}', false, '{}', false, '', now(), 'upload_pending'
       FROM generate_series(1, 20000) AS n`,
      [bot.id],
    );
    await sql.query('ANALYZE');
    const expected = ['all', ...Array.from({ length: 500 }, (_, n) => `name${String(n).padStart(3, '0')}`)];

    expect(await names(bot, 200)).toEqual(expected);
    expect((await bot.ask(files.listTags, { limit: 7 })).tags).toEqual(expected.slice(0, 7));
    expect(await values(bot, 'all', 200)).toEqual(
      Array.from({ length: 300 }, (_, n) => `v${String(n).padStart(3, '0')}`),
    );
    expect((await bot.ask(files.listTagValues, { tag: 'all', limit: 7 })).values).toHaveLength(7);
  });
});

describe('values of a tag', () => {
  it('lists values of a tag once each and in order, page by page', async () => {
    const bot = newBot();
    for (const [n, kind] of ['b', 'a', 'b', '', 'Z', 'ä'].entries()) await tagged(bot, `${n}`, { kind, other: `${n}` });

    expect(await valuePages(bot, 'kind')).toEqual([['', 'Z', 'a', 'b', 'ä']]);
    expect(await valuePages(bot, 'kind', 1)).toEqual([[''], ['Z'], ['a'], ['b'], ['ä']]);
    expect(await valuePages(bot, 'none')).toEqual([[]]);
    expect(await valuePages(bot, 'KIND')).toEqual([[]]);
  });

  it.each(strange)('accepts the tag value %s', async (value) => {
    const bot = newBot();
    await tagged(bot, 'file', { kind: value });

    expect(await values(bot, 'kind', 1)).toEqual([value]);
  });

  it('distinguishes tag values of 1,000 multi-byte characters by their ends', async () => {
    const bot = newBot();
    const long = Array.from({ length: 7 }, (_, n) => '漢'.repeat(999) + String(n));
    const short = '漢'.repeat(300);
    for (const [n, kind] of [...long, short].entries()) await tagged(bot, `${n}`, { kind });
    await tagged(bot, 'again', { kind: long[0]! });

    for (const limit of [1, 2, 200]) {
      const all = await values(bot, 'kind', limit);
      expect(all).toHaveLength(8);
      expect(new Set(all)).toEqual(new Set([...long, short]));
    }
    const { files: found } = await bot.list({ tags: { kind: { in: [long[3]!], notIn: [] } } });
    expect(found.map(({ key }) => key)).toEqual(['3']);
  });

  it('updates tag values with their files: changes, removals, declarations, deletions and expiry', async () => {
    const bot = newBot();
    const { id } = await tagged(bot, 'a', { kind: 'one', old: 'x' });
    const { id: other } = await tagged(bot, 'b', { kind: 'other' });
    const told = async () => ({ names: await names(bot), kinds: await values(bot, 'kind') });

    await bot.ask(files.update, { id, tags: { kind: 'two', old: null, new: 'y' } });
    expect(await told()).toEqual({ names: ['kind', 'new'], kinds: ['other', 'two'] });

    await tagged(bot, 'a', { kind: 'three' });
    expect(await told()).toEqual({ names: ['kind'], kinds: ['other', 'three'] });

    await sql.query(`UPDATE file SET expires_at = now() - interval '1 ms' WHERE id = $1`, [other]);
    expect(await told()).toEqual({ names: ['kind'], kinds: ['three'] });

    await bot.delete(id);
    expect(await told()).toEqual({ names: [], kinds: [] });
    await bot.delete(other).catch(() => undefined);
    expect(await sql.query('SELECT * FROM file_tag WHERE file_id = $1', [id])).toEqual([]);
  });

  it('loses no tag value when a file changes many times at once', async () => {
    const bot = newBot();
    const { id } = await tagged(bot, 'a', {});

    await Promise.all(
      Array.from({ length: 20 }, (_, n) => bot.ask(files.update, { id, tags: { [`t${n}`]: 'x', kind: `${n}` } })),
    );

    const { tags } = await bot.get(id);
    expect(await names(bot)).toEqual(Object.keys(tags).sort());
    expect(await values(bot, 'kind')).toEqual([tags['kind']]);
    expect(Object.keys(tags)).toHaveLength(21);
  });

  it('rejects the page token of another list of tags', async () => {
    const bot = newBot();
    for (const n of [1, 2, 3]) await tagged(bot, `${n}`, { kind: `${n}`, [`t${n}`]: 'x' });
    const { meta } = await bot.ask(files.listTagValues, { tag: 'kind', limit: 1 });
    const nextToken = meta.nextToken;

    const refused = { type: 'InvalidQuery' };
    await expect(bot.ask(files.listTagValues, { tag: 'other', nextToken })).rejects.toMatchObject(refused);
    await expect(bot.ask(files.listTags, { nextToken })).rejects.toMatchObject(refused);
    await expect(newBot().ask(files.listTagValues, { tag: 'kind', nextToken })).rejects.toMatchObject(refused);
    await expect(bot.ask(files.listTagValues, { tag: 'kind', nextToken: 'x' })).rejects.toMatchObject(refused);
  });
});
