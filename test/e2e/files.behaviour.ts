import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { sendTo } from '@parley/testing/public-api';
import { run, type RunningPlatform } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';

/** For each document format: file name, query, and text that its passages must contain. */
const documents: [name: string, query: string, expected: RegExp][] = [
  ['handbook.pdf', 'who writes the weather into the logbook', /visibility and every passing vessel/],
  ['libreoffice.docx', 'how often to water young trees', /Water them slowly, twice a week/],
  ['libreoffice.xlsx', 'crates of each variety in the cellar', /Boskoop \| 12\.5/],
  ['libreoffice.pptx', 'storing apples in a cool cellar', /four degrees/],
  ['libreoffice.odt', 'pear sayings', /Plant pears for your heirs/],
  ['handmade.epub', 'the wheel', /spokes/],
  ['ferry.eml', 'Fähre legt um sieben Uhr ab', /Plan für März|sieben Uhr/],
  ['boats.csv', 'Albatros nach Norden', /Möwe \| 8,0/],
];

const knowledge = {
  'cats.txt': 'The cat sleeps on the warm sofa. Kittens drink milk and chase mice all day.',
  'taxes.txt': 'The parliament voted on the new tax law. Companies must pay by the end of March.',
  'bread.txt': 'Knead the dough for ten minutes, let it rise, and bake the bread in a hot oven.',
};

const guide = `# Garden

Everything that grows.

## Trees

Apple trees need sun.

Pear trees need patience.

Cherry trees need birds to stay away.

## Herbs

Basil needs warmth.
`;

export function describeFiles(running: () => RunningPlatform): void {
  describe('files', () => {
    async function newBot() {
      const { bot } = await clientOf(running()).createBot({});
      return { botId: bot.id, client: clientOf(running(), bot.id) };
    }

    async function get<Json>(botId: string, path: string): Promise<Json> {
      const { url, token } = running();
      const headers = { authorization: `Bearer ${token}`, 'x-bot-id': botId };
      return (await sendTo(url, `GET ${path}`, { headers })).json as Json;
    }

    const inJson = (value: object) => encodeURIComponent(JSON.stringify(value));

    function settled(client: Client, id: string) {
      return waitFor(
        async () => (await client.getFile({ id })).file,
        ({ status }) => !status.endsWith('_pending'),
        60_000,
      );
    }

    type Upload = Parameters<Client['uploadFile']>[0];

    async function upload(client: Client, key: string, content: string | Buffer, options: Partial<Upload> = {}) {
      const { file } = await client.uploadFile({ key, content, ...options });
      return settled(client, file.id);
    }

    const indexed = (client: Client, key: string, content: string | Buffer, options: Partial<Upload> = {}) =>
      upload(client, key, content, { index: true, ...options });

    const foundKeys = async (client: Client, query: Parameters<Client['searchFiles']>[0]) =>
      (await client.searchFiles(query)).passages.map(({ file }) => file.key);

    const search = async (client: Client, query: string) => (await client.searchFiles({ query })).passages;

    it.each(documents)('indexes files and finds them by a question: %s', async (name, query, expected) => {
      const { client } = await newBot();
      const content = await readFile(join('test/fixtures/documents', name));

      const file = await indexed(client, `library/${name}`, content);

      expect(file).toMatchObject({ status: 'indexing_completed', size: content.length, indexingStack: 'v1' });
      const passages = await client.list.filePassages({ id: file.id }).collect();
      expect(passages.map(({ meta }) => meta.position)).toEqual(passages.map((_passage, position) => position));
      expect(passages.map((passage) => passage.content).join('\n')).toMatch(expected);
      const found = await search(client, query);
      expect(found.length).toBeGreaterThan(0);
      expect(found[0]!.file).toMatchObject({ id: file.id, key: `library/${name}`, contentType: file.contentType });
      expect(passages.map((passage) => passage.content)).toContain(found[0]!.content);
    });

    it('filters files by tags in both notations, by ids and by indexed', async () => {
      const { botId, client } = await newBot();
      const [red, blue, plain] = [
        await upload(client, 'red', 'r', { tags: { color: 'red', 'size.cm': '1' } }),
        await indexed(client, 'blue.txt', 'Blue words.', { tags: { color: 'blue', kind: 'draft' } }),
        await upload(client, 'plain', 'p', { tags: { kind: 'final & done' } }),
      ];
      const byClient = async (query: Parameters<Client['listFiles']>[0]) =>
        (await client.listFiles(query)).files.map(({ key }) => key).sort();
      const byJson = async (tags: object) => {
        const { files } = await get<{ files: { key: string }[] }>(botId, `/v1/files?tags=${inJson(tags)}`);
        return files.map(({ key }) => key).sort();
      };

      const filters: [object, string[]][] = [
        [{ color: 'red' }, ['red']],
        [{ color: ['red', 'blue'] }, ['blue.txt', 'red']],
        [{ color: { not: 'red' } }, ['blue.txt', 'plain']],
        [{ color: { not: ['red', 'blue'] } }, ['plain']],
        [{ kind: 'final & done' }, ['plain']],
        [{ color: ['red', 'blue'], kind: { not: 'draft' } }, ['red']],
        [{ color: 'green' }, []],
        [{ 'size.cm': '1' }, ['red']],
      ];
      for (const [tags, expected] of filters) {
        expect([tags, await byClient({ tags })]).toEqual([tags, expected]);
        expect([tags, await byJson(tags)]).toEqual([tags, expected]);
      }
      expect(await byClient({ ids: [red.id, plain.id, 'file_none'] })).toEqual(['plain', 'red']);
      expect(await byClient({ indexed: true })).toEqual(['blue.txt']);
      expect(await byClient({ indexed: false })).toEqual(['plain', 'red']);
      expect(await byClient({ indexed: false, ids: [red.id, blue.id], tags: { color: ['red', 'blue'] } })).toEqual([
        'red',
      ]);
    });

    it('sorts files by every field in both directions, page by page', async () => {
      const { client } = await newBot();
      const sizes: [string, number][] = [
        ['b', 300],
        ['C', 20],
        ['a', 1000],
        ['ä', 5],
      ];
      for (const [key, size] of sizes) await upload(client, key, 'x'.repeat(size));
      await client.upsertFile({ key: 'pending', size: 1 });
      await client.updateFileMetadata({ id: 'C', tags: { touched: 'yes' } });

      const sorted = {
        createdAt: ['b', 'C', 'a', 'ä', 'pending'],
        updatedAt: ['b', 'a', 'ä', 'pending', 'C'],
        key: ['C', 'a', 'b', 'pending', 'ä'],
        size: ['pending', 'ä', 'C', 'b', 'a'],
        status: ['upload_completed', 'upload_completed', 'upload_completed', 'upload_completed', 'upload_pending'],
      };
      for (const sortField of Object.keys(sorted) as (keyof typeof sorted)[]) {
        for (const sortDirection of ['asc', 'desc'] as const) {
          const files = await client.list.files({ sortField, sortDirection, pageSize: 2 }).collect();

          const shown = files.map((file) => (sortField === 'status' ? file.status : file.key));
          const ascending = sortDirection === 'asc' ? shown : shown.reverse();
          expect([sortField, sortDirection, ascending]).toEqual([sortField, sortDirection, sorted[sortField]]);
          expect(new Set(files.map(({ id }) => id)).size).toBe(5);
        }
      }
    });

    it('changes tags, metadata, access policies and expiry of a file without a new upload', async () => {
      const { client } = await newBot();
      const file = await upload(client, 'a.txt', 'text', { tags: { a: '1', b: '2' }, metadata: { x: 1, y: { z: 2 } } });
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();

      const changed = await client.updateFileMetadata({
        id: file.id,
        tags: { a: null, c: '3' },
        metadata: { x: null, y: [1], w: true },
        accessPolicies: ['integrations'],
        expiresAt,
      });
      const kept = await client.updateFileMetadata({ id: 'a.txt', expiresAt: null });

      expect(changed.file).toMatchObject({
        tags: { b: '2', c: '3' },
        metadata: { y: [1], w: true },
        accessPolicies: ['integrations'],
        expiresAt: `${expiresAt.slice(0, 16)}:00.000Z`,
        size: 4,
        status: 'upload_completed',
      });
      expect(changed.file.metadata).not.toHaveProperty('x');
      expect(kept.file).not.toHaveProperty('expiresAt');
      expect(await (await fetch(kept.file.url)).text()).toBe('text');
    });

    it('copies files with all fields, within the bot and to another bot, and finds them there', async () => {
      const [mine, other] = [await newBot(), await newBot()];
      const source = await indexed(mine.client, 'a/cats.txt', knowledge['cats.txt'], {
        tags: { kind: 'pet' },
        metadata: { n: 1 },
      });
      const to = { idOrKey: 'a/cats.txt', destinationKey: 'b/copy of cats.txt' };

      const near = (await mine.client.copyFile(to)).file;
      const far = (await mine.client.copyFile({ ...to, 'x-destination-bot-id': other.botId })).file;

      expect((await settled(other.client, far.id)).status).toBe('indexing_completed');
      expect((await settled(mine.client, near.id)).status).toBe('indexing_completed');
      for (const [copy, botId] of [
        [near, mine.botId],
        [far, other.botId],
      ] as const) {
        expect(copy).toMatchObject({ botId, key: 'b/copy of cats.txt', tags: { kind: 'pet' }, metadata: { n: 1 } });
        expect(copy.id).not.toBe(source.id);
        expect(await (await fetch(copy.url)).text()).toBe(knowledge['cats.txt']);
      }
      expect(await foundKeys(other.client, { query: 'kittens' })).toEqual(['b/copy of cats.txt']);
      await expect(mine.client.copyFile(to)).rejects.toMatchObject({ type: 'AlreadyExists' });
      expect((await mine.client.copyFile({ ...to, overwrite: true })).file.id).toBe(near.id);
      await expect(mine.client.copyFile({ ...to, 'x-destination-bot-id': 'none' })).rejects.toMatchObject({
        type: 'Forbidden',
      });
    });

    it('serves public_content without a token, until this policy is removed', async () => {
      const { client } = await newBot();
      const options = { accessPolicies: ['public_content'], publicContentImmediatelyAccessible: true } as const;
      const file = await upload(client, 'page.html', '<h1>Hi</h1>', options as unknown as Partial<Upload>);

      const answer = await fetch(file.url);
      await client.updateFileMetadata({ id: file.id, accessPolicies: [] });

      expect(await answer.text()).toBe('<h1>Hi</h1>');
      expect(answer.headers.get('content-disposition')).toMatch(/^attachment/);
      expect(answer.headers.get('cache-control')).toMatch(/public/);
      expect((await fetch(file.url)).status).toBe(403);
      const { url } = (await client.getFile({ id: file.id })).file;
      expect(await (await fetch(url)).text()).toBe('<h1>Hi</h1>');
    });

    describe('search', () => {
      let botId: string;
      let client: Client;

      beforeAll(async () => {
        ({ botId, client } = await newBot());
        await Promise.all([
          ...Object.entries(knowledge).map(([key, text]) => indexed(client, key, text, { tags: { topic: key } })),
          indexed(client, 'garden.md', guide, {
            tags: { topic: 'garden' },
            metadata: { source: 'book' },
            indexing: {
              configuration: { parsing: { minimumParagraphLength: 50 }, chunking: { maximumChunkLength: 100 } },
            },
          }),
        ]);
      }, 60_000);

      it.each([
        ['a pet resting on furniture', 'cats.txt'],
        ['when is money due to the government?', 'taxes.txt'],
        ['how do I make a loaf', 'bread.txt'],
        ['orchard', 'garden.md'],
      ])('ranks the right document first for "%s"', async (query, key) => {
        const passages = await search(client, query);

        expect(passages[0]!.file.key).toBe(key);
        const scores = passages.map(({ score }) => score);
        expect(scores).toEqual([...scores].sort((a, b) => b - a));
        expect(scores.every((score) => score >= 0 && score <= 1)).toBe(true);
      });

      it('shows the file of each passage in a search, and no context by default', async () => {
        const [found] = await search(client, 'cherry trees and birds');

        const { file } = await client.getFile({ id: 'garden.md' });
        const { id, key, contentType, metadata, tags, createdAt, updatedAt } = file;
        expect(found!.file).toEqual({ id, key, contentType, metadata, tags, createdAt, updatedAt });
        expect(found).not.toHaveProperty('context');
      });

      it('returns at most as many passages of a search as the limit', async () => {
        expect(await foundKeys(client, { query: 'trees', limit: 1 })).toHaveLength(1);
        expect((await foundKeys(client, { query: 'trees', limit: 50 })).length).toBeGreaterThan(3);
        for (const limit of [0, 51]) {
          await expect(client.searchFiles({ query: 'trees', limit })).rejects.toMatchObject({ type: 'InvalidQuery' });
        }
      });

      it('filters a search of files by tags in both notations', async () => {
        const [cats, taxes] = ['cats.txt', 'taxes.txt'];
        const byJson = async (tags: object) => {
          const path = `/v1/files/search?query=the&tags=${inJson(tags)}`;
          return (await get<{ passages: { file: { key: string } }[] }>(botId, path)).passages.map(
            ({ file }) => file.key,
          );
        };

        for (const [topic, expected] of [
          [cats, [cats]],
          [
            [cats, taxes],
            [cats, taxes],
          ],
          [{ not: [cats, 'garden'] }, ['bread.txt', taxes]],
          ['none', []],
        ] as const) {
          const keys = await foundKeys(client, { query: 'the', tags: { topic } });
          expect([...new Set(keys)].sort()).toEqual(expected);
          expect([...new Set(await byJson({ topic }))].sort()).toEqual(expected);
        }
      });

      it('returns neighbours and headings of a passage on request', async () => {
        const ask = async (options: object) =>
          (await client.searchFiles({ query: 'patience of pear trees', limit: 1, ...options })).passages[0]!;

        const whole = await ask({ withContext: true, contextDepth: 10, includeBreadcrumb: true });
        const alone = await ask({ withContext: true, contextDepth: 0 });
        const near = await ask({ withContext: true });

        const passages = await client.list.filePassages({ id: 'garden.md' }).collect();
        const [breadcrumb, ...context] = whole.context!;
        expect(breadcrumb).toMatchObject({ type: 'breadcrumb', text: expect.stringContaining('Garden') as string });
        expect(context.map(({ text }) => text)).toEqual(passages.map(({ content }) => content));
        expect(context.map(({ id }) => id)).toEqual(passages.map(({ id }) => id));
        const place = context.findIndex(({ type }) => type === 'current');
        expect(context.map(({ offset }) => offset)).toEqual(context.map((_entry, n) => n - place));
        expect(alone.context!.map(({ type }) => type)).toEqual(['current']);
        expect(near.context!.map(({ type }) => type)).toEqual(['preceding', 'current', 'subsequent']);
        expect((await ask({ includeBreadcrumb: true })).content).toMatch(/^Garden\n\nTrees\n\n[^]*Pear/);
      });

      it('joins the passages of each file in document order with consolidate: true', async () => {
        const query = { query: 'trees need', tags: { topic: ['garden', 'cats.txt'] }, consolidate: true } as const;

        const { passages } = await client.searchFiles({ ...query, contextDepth: 10 });

        const inGarden = await client.list.filePassages({ id: 'garden.md' }).collect();
        expect(passages.map(({ file }) => file.key)).toEqual(['garden.md', 'cats.txt']);
        expect(passages[0]).toMatchObject({ meta: { type: 'consolidated', position: 0 } });
        expect(passages[0]!.content).toBe(inGarden.map(({ content }) => content).join('\n\n'));
        expect(passages[0]).not.toHaveProperty('context');
      });

      it('evaluates search by the questions of the bot, and shows the change since the run before', async () => {
        const folder = await mkdtemp(join(tmpdir(), 'parley-questions-'));
        const { url, token } = running();
        const evaluate = async (questions?: object[]) => {
          const path = join(folder, 'questions.json');
          if (questions) await writeFile(path, JSON.stringify(questions));
          const words = ['evaluate', botId, ...(questions ? [path] : [])];
          const parley = run('dist/apps/cli/src/main.js', { PARLEY_URL: url, PARLEY_TOKEN: token }, words);
          await parley.ended;
          return parley.output();
        };
        try {
          expect(await evaluate()).toContain('The bot has no questions yet');
          const first = await evaluate([
            { question: 'a pet resting on furniture', file: 'cats.txt', passage: 'warm SOFA' },
            { question: 'how do I make a loaf', file: 'missing.txt' },
          ]);
          await indexed(client, 'missing.txt', 'How do I make a loaf? Ask the baker.');
          const second = await evaluate();

          expect(first).toMatch(
            /^2 questions\n {2}hit@1 {2}0\.500\n[^]*absent {2}how do I make a loaf {2}\(missing\.txt\)/,
          );
          expect(second).toMatch(/hit@1 {2}1\.000 {3}\+0\.500 since 20[^]*absent → 1 {2}how do I make a loaf/);
          expect(await evaluate([{ question: 'x' }])).toContain('[0].file must be the key of the file that answers.');
        } finally {
          await client.deleteFile({ id: 'missing.txt' });
          await rm(folder, { recursive: true });
        }
      });

      it('searches files of this bot only', async () => {
        const other = await newBot();
        await indexed(other.client, 'secret.txt', 'The password of the cat is mouse.');

        expect(await foundKeys(client, { query: 'password', limit: 50 })).not.toContain('secret.txt');
        expect(await foundKeys(other.client, { query: 'sofa', limit: 50 })).toEqual(['secret.txt']);
      });
    });

    it('does not find files after they are deleted, declared again or replaced', async () => {
      const { client } = await newBot();
      for (const key of ['deleted.txt', 'declared.txt', 'replaced.txt'])
        await indexed(client, key, `Old words of ${key}.`);
      const before = await foundKeys(client, { query: 'old words' });

      await client.deleteFile({ id: 'deleted.txt' });
      await client.upsertFile({ key: 'declared.txt', size: 5, index: true });
      await indexed(client, 'replaced.txt', 'New text.');

      expect(before.sort()).toEqual(['declared.txt', 'deleted.txt', 'replaced.txt']);
      expect((await search(client, 'old words')).map(({ content }) => content)).toEqual(['New text.']);
      await expect(client.getFile({ id: 'deleted.txt' })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    });

    it('keeps passages of a file until the new ones are searchable', async () => {
      const { client } = await newBot();
      const file = await indexed(client, 'a.txt', 'Old words, of the content.', { tags: { a: '1' } });
      const passages = [
        { content: 'New words, the title', type: 'title' as const, pageNumber: 1 },
        ...Array.from({ length: 60 }, (_, n) => ({ content: `New words, number ${n}.`, pageNumber: 2 })),
        { content: 'Words | of a table', type: 'table' as const },
        { content: 'New words of a picture', type: 'image' as const, pageNumber: 3 },
      ];

      await client.setFilePassages({ id: 'a.txt', passages });

      let sawOld = false;
      for (;;) {
        const contents = (await search(client, 'words')).map(({ content }) => content);
        const listed = (await client.listFilePassages({ id: file.id })).passages.map(({ content }) => content);
        for (const seen of [contents, listed]) {
          expect(seen.length).toBeGreaterThan(0);
          expect(new Set(seen.map((text) => text.startsWith('Old'))).size).toBe(1);
        }
        sawOld ||= contents[0]!.startsWith('Old');
        if ((await client.getFile({ id: file.id })).file.status === 'indexing_completed') break;
      }
      const set = await client.list.filePassages({ id: file.id }).collect();
      expect(sawOld).toBe(true);
      expect(set.map(({ content }) => content)).toEqual(passages.map(({ content }) => content));
      expect(set[0]!.meta).toMatchObject({ type: 'chunk', subtype: 'title', pageNumber: 1, position: 0 });
      expect(set[1]!.meta).toMatchObject({ subtype: 'paragraph', pageNumber: 2, position: 1 });
      expect(set.at(-2)!.meta).toMatchObject({ subtype: 'table' });
      expect(set.at(-1)!.meta).toMatchObject({ type: 'image', subtype: 'image', pageNumber: 3 });
      expect(await (await fetch((await client.getFile({ id: file.id })).file.url)).text()).toBe(
        'Old words, of the content.',
      );
    });

    it('refuses passages of a file that is not indexed', async () => {
      const { client } = await newBot();
      await upload(client, 'a.txt', 'text');

      await expect(client.setFilePassages({ id: 'a.txt', passages: [{ content: 'x' }] })).rejects.toMatchObject({
        type: 'InvalidPayload',
        message: expect.stringContaining('index: true') as string,
      });
    });

    it('lists names and values of the tags of files, page by page', async () => {
      const { client } = await newBot();
      await client.upsertFile({ key: 'first', size: 1, tags: { a: '1', 'b/c': 'x y' } });
      await client.upsertFile({ key: 'second', size: 1, tags: { a: '2' } });
      await client.upsertFile({ key: 'third', size: 1, tags: { a: '1', d: 'é' } });

      const [first, second] = [
        await client.listFileTags({ pageSize: 2 }),
        await client.listFileTags({
          pageSize: 2,
          nextToken: (await client.listFileTags({ pageSize: 2 })).meta.nextToken,
        }),
      ];

      expect([first.tags, second.tags, second.meta]).toEqual([['a', 'b/c'], ['d'], {}]);
      expect(await client.list.fileTagValues({ tag: 'a', pageSize: 1 }).collect()).toEqual(['1', '2']);
      expect((await client.listFileTagValues({ tag: 'b/c' })).values).toEqual(['x y']);
      expect((await client.listFileTagValues({ tag: 'none' })).values).toEqual([]);
    });

    it('groups files in knowledge bases, which are only names and tags', async () => {
      const { client } = await newBot();
      const { knowledgeBase: first } = await client.createKnowledgeBase({ name: 'First', tags: { a: '1', b: '2' } });
      const { knowledgeBase: second } = await client.createKnowledgeBase({ name: 'Second' });
      await client.upsertFile({ key: 'a', size: 1, tags: { kbId: first.id } });

      const { knowledgeBase: changed } = await client.updateKnowledgeBase({
        id: first.id,
        name: 'Renamed',
        tags: { a: null, c: '3' },
      });

      expect(changed).toEqual({ id: first.id, name: 'Renamed', tags: { b: '2', c: '3' } });
      const { knowledgeBases } = await client.listKnowledgeBases({});
      expect(knowledgeBases.map(({ id }) => id)).toEqual([second.id, first.id]);
      const listed = async (tags: object) =>
        (await client.listKnowledgeBases({ tags })).knowledgeBases.map(({ name }) => name);
      expect(await listed({ c: '3' })).toEqual(['Renamed']);
      expect(await listed({ c: { not: '3' } })).toEqual(['Second']);
      expect(await client.list.knowledgeBases({ pageSize: 1 }).collect()).toHaveLength(2);
      await client.deleteKnowledgeBase({ id: first.id });
      await expect(client.deleteKnowledgeBase({ id: first.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
      expect((await client.listFiles({ tags: { kbId: first.id } })).files).toHaveLength(1);
    });
  });
}
