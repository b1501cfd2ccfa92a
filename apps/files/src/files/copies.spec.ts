import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@botpress/client';
import type { BotCaller } from '@parley/contracts/access';
import { systemCaller } from '@parley/contracts/caller';
import { files } from '@parley/contracts/files';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { freePort } from '@parley/testing/free-port';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

let api: PublicApi;
let blobsDir: string;
let alice: Account;
let botId: string;
let client: Client;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-files-'));
  const contentPort = await freePort();
  const filesModule = configured(FilesModule, FilesConfig, {
    blobsDir,
    contentUrl: `http://127.0.0.1:${contentPort}`,
    sweepIntervalMs: 100,
  });
  api = await startPublicApi(GatewayModule, AdminModule, filesModule);
  await api.apps[2]!.listen(contentPort, '127.0.0.1');
  alice = await api.newAccount();
  ({ botId, client } = await newBot(alice));
});
afterAll(async () => {
  await api?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

async function newBot(owner: Account) {
  const { bot } = await owner.client.createBot({});
  return { botId: bot.id, client: api.client(owner.token, owner.workspaceId, bot.id) };
}

async function contentOf(file: { url: string }): Promise<string> {
  return (await fetch(file.url)).text();
}

async function blobsOf(fileId: string): Promise<string[]> {
  await waitFor(
    () => api.sql('SELECT file_id FROM files.upload UNION ALL SELECT key FROM files.work'),
    (open) => open.length === 0,
    15_000,
  );
  return readdir(join(blobsDir, botId, fileId));
}

let number = 0;
async function source(content = 'content', options: object = {}): Promise<string> {
  const { file } = await client.uploadFile({ key: `source-${++number}`, content, ...options });
  return file.id;
}

describe('a copy', () => {
  it('copies the content and all fields of a file, and keeps the copy when the file is deleted', async () => {
    const details = { tags: { kind: 'note' }, metadata: { deep: { x: 1 } }, contentType: 'text/plain' };
    const idOrKey = await source('content', details);

    const { file } = await client.copyFile({ idOrKey, destinationKey: 'folder/copy' });

    expect(file).toMatchObject({ botId, key: 'folder/copy', size: 7, status: 'upload_completed', ...details });
    expect(file.id).not.toBe(idOrKey);
    await client.deleteFile({ id: idOrKey });
    expect(await contentOf((await client.getFile({ id: 'folder/copy' })).file)).toBe('content');
  });

  it('indexes the copy of an indexed file', async () => {
    const idOrKey = await source('content', { index: true });

    const { file } = await client.copyFile({ idOrKey, destinationKey: 'indexed-copy' });

    expect(file).toMatchObject({ index: true, status: 'indexing_pending' });
    expect(await api.sql('SELECT source FROM files.indexing_job WHERE file_id = $1', [file.id])).toEqual([
      { source: 'content' },
    ]);
  });

  it('replaces a file by a copy only when overwrite is set', async () => {
    const [first, second] = [await source('first'), await source('second')];
    const { file } = await client.copyFile({ idOrKey: first, destinationKey: 'place' });

    await expect(client.copyFile({ idOrKey: second, destinationKey: 'place' })).rejects.toMatchObject({
      type: 'AlreadyExists',
      message: expect.stringContaining('Set overwrite'),
    });
    expect(await contentOf((await client.getFile({ id: 'place' })).file)).toBe('first');

    const again = await client.copyFile({ idOrKey: second, destinationKey: 'place', overwrite: true });
    expect(again.file.id).toBe(file.id);
    expect(await contentOf(again.file)).toBe('second');
    expect(await blobsOf(file.id)).toHaveLength(1);
  });

  it('copies no bytes when the copy is refused', async () => {
    const idOrKey = await source('not again');
    const { file } = await client.copyFile({ idOrKey, destinationKey: 'held' });
    await api.sql('CREATE TABLE public.begun AS SELECT * FROM files.upload WITH NO DATA');
    await api.sql(`CREATE RULE note AS ON INSERT TO files.upload DO ALSO INSERT INTO public.begun SELECT NEW.*`);

    await expect(client.copyFile({ idOrKey, destinationKey: 'held' })).rejects.toMatchObject({ type: 'AlreadyExists' });

    expect(await api.sql('SELECT 1 FROM public.begun')).toEqual([]);
    expect(await blobsOf(file.id)).toHaveLength(1);
    await api.sql('DROP RULE note ON files.upload');
  });

  it('keeps the content of a file that is copied onto itself', async () => {
    const id = await source('mine');
    const { key } = (await client.getFile({ id })).file;

    const { file } = await client.copyFile({ idOrKey: id, destinationKey: key, overwrite: true });

    expect(file.id).toBe(id);
    expect(await contentOf(file)).toBe('mine');
  });

  it('makes one complete file, without other blobs, from many concurrent copies under one key', async () => {
    const contents = Array.from({ length: 8 }, (_, place) => `content ${place}`.repeat(place + 1));
    const ids = await Promise.all(contents.map((content) => source(content)));

    const copies = await Promise.allSettled(
      ids.map((idOrKey) => client.copyFile({ idOrKey, destinationKey: 'raced', overwrite: true })),
    );

    const refused = copies.flatMap((copy) =>
      copy.status === 'rejected' ? [(copy.reason as { type: string }).type] : [],
    );
    expect(refused.length).toBeLessThan(copies.length);
    expect(refused.filter((type) => type !== 'ResourceLockedConflict')).toEqual([]);
    const { file } = await client.getFile({ id: 'raced' });
    expect(contents).toContain(await contentOf(file));
    expect(await blobsOf(file.id)).toHaveLength(1);
  });

  it('refuses to copy a file without content, and returns 404 for a missing file', async () => {
    const { file } = await client.upsertFile({ key: 'empty', size: 1 });

    await expect(client.copyFile({ idOrKey: file.id, destinationKey: 'x' })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringContaining('no content yet'),
    });
    await expect(client.copyFile({ idOrKey: 'none', destinationKey: 'x' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });

  it('copies to another bot that the role of the account may write, and to no other', async () => {
    const idOrKey = await source('travels', { accessPolicies: ['public_content'] });
    const other = await newBot(alice);
    const [mallory, viewer] = [await api.newAccount(), await api.newAccount()];
    const foreign = await newBot(mallory);
    await api.addMember(mallory.workspaceId, alice.accountId, 'viewer');
    const guest = await newBot(viewer);
    await api.addMember(viewer.workspaceId, alice.accountId, 'developer');
    const copyTo = (destinationBotId: string) =>
      client.copyFile({ idOrKey, destinationKey: 'arrived', 'x-destination-bot-id': destinationBotId });

    await copyTo(other.botId);
    await copyTo(guest.botId);

    for (const { client: there } of [other, guest]) {
      expect(await contentOf((await there.getFile({ id: 'arrived' })).file)).toBe('travels');
    }
    const refusals = await Promise.allSettled([foreign.botId, 'none'].map(copyTo));
    refusals.forEach((refusal) => expect(refusal).toMatchObject({ reason: { type: 'Forbidden' } }));
    await expect(foreign.client.getFile({ id: 'arrived' })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('asks admin for the role in the destination bot for a gateway of 0.2.0', async () => {
    const idOrKey = await source('travels');
    const other = await newBot(alice);
    const foreign = await newBot(await api.newAccount());
    const { accountId, email, workspaceId } = alice;
    const caller: BotCaller = {
      ...systemCaller('test'),
      credential: 'pat',
      role: 'owner',
      account: { id: accountId, email },
      workspace: { id: workspaceId },
      bot: { id: botId, workspaceId },
    };
    const copyTo = (destinationBotId: string) =>
      api.call(files.copy, caller, { idOrKey, destinationKey: 'old-gateway', destinationBotId });

    expect((await copyTo(other.botId)).file.botId).toBe(other.botId);
    await expect(copyTo(foreign.botId)).rejects.toMatchObject({ type: 'Forbidden' });
  });

  it('refuses a copy as soon as the account has lost its role in the destination bot', async () => {
    const idOrKey = await source('travels');
    const host = await api.newAccount();
    const { botId: destination } = await newBot(host);
    const { id } = await host.client.createWorkspaceMember({ email: alice.email, role: 'developer' });
    const copy = () =>
      client.copyFile({
        ...{ idOrKey, destinationKey: 'arrived', overwrite: true },
        'x-destination-bot-id': destination,
      });
    await copy();

    await host.client.deleteWorkspaceMember({ id });

    await expect(copy()).rejects.toMatchObject({ type: 'Forbidden' });
  });
});
