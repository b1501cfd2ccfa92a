import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccessPolicy } from '@parley/contracts/files';
import { files } from '@parley/contracts/files';
import { knowledgeBases } from '@parley/contracts/knowledge-bases';
import { Database } from '@parley/persistence/database';
import { BotFiles } from '@parley/testing/bot-files';
import { type RunningService, startService } from '@parley/testing/running-service';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

let service: RunningService;
let blobsDir: string;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-files-'));
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 5,
        blobsDir,
        contentUrl,
        secretKey: 's'.repeat(32),
        sweepIntervalMs: 100,
      }),
      platform,
    ),
  );
});
afterAll(async () => {
  await service?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

/** 1,000 random characters from `count` code points, which no index can compress. */
function randomText(first: number, count: number): string {
  return Array.from({ length: 1000 }, () => String.fromCodePoint(first + randomInt(count))).join('');
}

const notFound = { type: 'ResourceNotFound' };
const forbidden = { type: 'Forbidden' };

async function aBot() {
  const bot = new BotFiles(service);
  const askers = {
    bot,
    slack: bot.byIntegration('slack'),
    teams: bot.byIntegration('teams'),
    ann: bot.forUser('user_ann'),
    bob: bot.forUser('user_bob'),
  };
  const make = async (asker: keyof typeof askers, accessPolicies: AccessPolicy[] = []) =>
    (await askers[asker].upload(`${asker}.txt`, 'x', { accessPolicies, tags: { of: asker } })).id;
  return { ...askers, make };
}

describe('a file', () => {
  it('assigns a file to its creator: the bot, an installation, or the user of the call', async () => {
    const { bot, slack, ann, make } = await aBot();
    const both = new BotFiles(service, bot.id, { ...slack.caller, user: { id: 'user_ann' } });

    await make('bot');

    expect((await bot.get('bot.txt')).owner).toEqual({ type: 'bot', id: bot.id });
    expect((await slack.upsert({ key: 'a', size: 1 })).owner).toEqual({
      type: 'integration',
      id: 'intver_slack',
      alias: 'slack',
    });
    expect((await ann.upsert({ key: 'b', size: 1 })).owner).toEqual({ type: 'user', id: 'user_ann' });
    expect((await both.upsert({ key: 'c', size: 1 })).owner).toEqual({ type: 'user', id: 'user_ann' });
  });

  it('keeps keys of files unique in the bot, and separate for each installation', async () => {
    const { bot, slack, teams, ann } = await aBot();

    const made = await Promise.all([bot, slack, teams].map((asker) => asker.upsert({ key: 'same', size: 1 })));
    const again = await slack.upsert({ key: 'same', size: 2 });

    expect(new Set(made.map(({ id }) => id)).size).toBe(3);
    expect(again.id).toBe(made[1]!.id);
    expect((await bot.get('same')).id).toBe(made[0]!.id);
    expect((await slack.get('same')).id).toBe(made[1]!.id);
    await expect(ann.upsert({ key: 'same', size: 1 })).rejects.toMatchObject({ type: 'AlreadyExists' });
  });

  it.each([[randomText(0x4e00, 20_000)], [randomText(0x1f300, 500)], ['x'.repeat(1000)]])(
    'finds a file by a key of a thousand characters',
    async (key) => {
      const { bot } = await aBot();

      const { id } = await bot.upsert({ key, size: 1 });

      expect((await bot.get(key)).id).toBe(id);
      expect((await bot.upsert({ key, size: 1 })).id).toBe(id);
    },
  );

  it('keeps the owner of a file that the bot declares again, until it has expired', async () => {
    const { bot, ann, bob } = await aBot();
    const { id } = await ann.upsert({ key: 'mine', size: 1 });

    const byBot = await bot.upsert({ key: 'mine', size: 2 });

    expect(byBot).toMatchObject({ id, owner: { type: 'user', id: 'user_ann' } });
    await expect(bob.upsert({ key: 'mine', size: 1 })).rejects.toMatchObject({ type: 'AlreadyExists' });
    const database = service.apps[0]!.get(Database, { strict: false });
    await database.query(`UPDATE file SET expires_at = now() - interval '1 ms' WHERE id = $1`, [id]);
    expect((await bob.upsert({ key: 'mine', size: 1 })).owner).toEqual({ type: 'user', id: 'user_bob' });
  });
});

describe('read access', () => {
  it.each<[reader: 'bot' | 'slack' | 'ann', policies: AccessPolicy[], sees: string[]]>([
    ['bot', [], ['ann', 'bob', 'bot', 'slack', 'teams']],
    ['slack', [], ['slack']],
    ['slack', ['integrations'], ['ann', 'bob', 'bot', 'slack', 'teams']],
    ['slack', ['public_content'], ['slack']],
    ['ann', [], ['ann']],
    ['ann', ['public_content'], ['ann', 'bob', 'bot', 'slack', 'teams']],
    ['ann', ['integrations'], ['ann']],
  ])(
    'shows to the reader %s files with the policies %j of the owners %j, on every path',
    async (reader, policies, sees) => {
      const { make, ...askers } = await aBot();
      const owners = ['ann', 'bob', 'bot', 'slack', 'teams'] as const;
      const ids = await Promise.all(owners.map((owner) => make(owner, policies)));
      const asker = askers[reader];
      const hidden = ids.filter((_, place) => !sees.includes(owners[place]!));

      const listed = await asker.list({ limit: 100 });
      const byTag = await asker.list({ tags: { of: { in: [...owners], notIn: [] } } });
      const { values } = await asker.ask(files.listTagValues, { tag: 'of' });

      expect(listed.files.map(({ key }) => key.replace('.txt', '')).sort()).toEqual(sees);
      expect(byTag.files.map(({ key }) => key.replace('.txt', '')).sort()).toEqual(sees);
      expect(values).toEqual(sees);
      for (const id of hidden) {
        await expect(asker.get(id)).rejects.toMatchObject(notFound);
        await expect(asker.listPassages(id)).rejects.toMatchObject(notFound);
        await expect(asker.delete(id)).rejects.toMatchObject(notFound);
        await expect(asker.ask(files.update, { id, tags: { a: 'b' } })).rejects.toMatchObject(notFound);
        await expect(asker.ask(files.copy, { idOrKey: id, destinationKey: 'stolen' })).rejects.toMatchObject(notFound);
        await expect(asker.ask(files.setPassages, { id, passages: [] })).rejects.toMatchObject(notFound);
      }
      for (const id of ids.filter((each) => !hidden.includes(each))) expect((await asker.get(id)).id).toBe(id);
    },
  );

  it('forbids to change the file of another owner that is only readable', async () => {
    const { bot, slack, ann, make } = await aBot();
    const shared = await make('bot', ['integrations', 'public_content']);

    for (const asker of [slack, ann]) {
      await expect(asker.delete(shared)).rejects.toMatchObject(forbidden);
      await expect(asker.ask(files.update, { id: shared, tags: { a: 'b' } })).rejects.toMatchObject(forbidden);
      await expect(asker.ask(files.setPassages, { id: shared, passages: [] })).rejects.toMatchObject(forbidden);
    }

    expect(await bot.get(shared)).toMatchObject({ tags: { of: 'bot' } });
  });

  it('copies a readable file, and assigns the copy to the reader', async () => {
    const { slack, make } = await aBot();
    const shared = await make('bot', ['integrations']);

    const { file } = await slack.ask(files.copy, { idOrKey: shared, destinationKey: 'mine' });

    expect(file).toMatchObject({ key: 'mine', size: 1, owner: { type: 'integration', alias: 'slack' } });
  });

  it('finds by key the own file of an installation before that of the bot', async () => {
    const { bot, slack, make } = await aBot();
    const shared = await make('bot', ['integrations']);
    const own = await slack.upsert({ key: 'bot.txt', size: 1 });

    expect((await slack.get('bot.txt')).id).toBe(own.id);
    await slack.delete('bot.txt');
    expect((await slack.get('bot.txt')).id).toBe(shared);
    expect((await bot.get('bot.txt')).id).toBe(shared);
  });

  it('finds by key a file of an installation for the bot when no other file has the key', async () => {
    const { bot, slack, teams } = await aBot();
    const { id } = await slack.upsert({ key: 'theirs', size: 1 });

    expect((await bot.get('theirs')).id).toBe(id);
    await expect(teams.get('theirs')).rejects.toMatchObject(notFound);
    await teams.upsert({ key: 'theirs', size: 1 });
    await expect(bot.get('theirs')).rejects.toMatchObject(notFound);
  });

  it('does not let a user change a knowledge base', async () => {
    const { bot, ann } = await aBot();
    const { knowledgeBase } = await bot.ask(knowledgeBases.create, { name: 'ours' });
    const { id } = knowledgeBase;

    await expect(ann.ask(knowledgeBases.create, { name: 'mine' })).rejects.toMatchObject(forbidden);
    await expect(ann.ask(knowledgeBases.update, { id, name: 'mine' })).rejects.toMatchObject(forbidden);
    await expect(ann.ask(knowledgeBases.delete, { id })).rejects.toMatchObject(forbidden);
    expect((await ann.ask(knowledgeBases.list, {})).knowledgeBases).toMatchObject([{ id, name: 'ours' }]);
  });
});

describe('public content', () => {
  it('serves public content to anybody at a permanent URL, until it is no longer public', async () => {
    const bot = new BotFiles(service);
    const { id } = await bot.upload('page.html', '<script>alert(1)</script>', { accessPolicies: ['public_content'] });
    const { url } = await bot.get(id);

    const answer = await fetch(`${url}?utm=1`);
    const known = await fetch(url, { headers: { 'if-none-match': answer.headers.get('etag')! } });

    expect(new URL(url).search).toBe('');
    expect((await bot.get(id)).url).toBe(url);
    expect({ status: answer.status, text: await answer.text() }).toEqual({
      status: 200,
      text: '<script>alert(1)</script>',
    });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'public, max-age=60, stale-if-error=60',
      'content-disposition': expect.stringMatching(/^attachment/),
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    });
    expect(known.status).toBe(304);

    await bot.upload('page.html', 'new', { accessPolicies: ['public_content'] });
    expect(await (await fetch(url)).text()).toBe('new');
    await bot.ask(files.update, { id, accessPolicies: [] });
    expect((await fetch(url)).status).toBe(403);
  });

  it('gives the same answer without a signature for private, missing and not uploaded files', async () => {
    const bot = new BotFiles(service);
    const { id } = await bot.upload('private', 'x');
    const pending = await bot.upsert({ key: 'pending', size: 1, accessPolicies: ['public_content'] });
    const at = (file: string) => fetch(`${service.url}/content/${file}`);

    const answers = await Promise.all([id, pending.id, 'file_none'].map(at));
    const bodies = await Promise.all(answers.map(async (answer) => ({ ...((await answer.json()) as object), id: '' })));

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(bodies[1]).toEqual(bodies[0]);
    expect(bodies[2]).toEqual(bodies[0]);
  });
});
