import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BotCaller } from '@parley/contracts/access';
import type { OtherBot } from '@parley/contracts/caller';
import { files } from '@parley/contracts/files';
import { BotFiles } from '@parley/testing/bot-files';
import { type RunningService, startService } from '@parley/testing/running-service';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

/** The files service without any service that it could ask. */
let service: RunningService;
let blobsDir: string;
let source: string;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-files-'));
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), { databaseUrl, blobsDir, contentUrl, secretKey: 's'.repeat(32) }),
      platform,
    ),
  );
  source = (
    await new BotFiles(service, 'bot-1').upload('source', 'content', {
      accessPolicies: ['integrations', 'public_content'],
    })
  ).id;
});
afterAll(async () => {
  await service?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const account = { id: 'account-1', email: 'one@example.com' };
const quotas = { storage_count: 1_000, knowledgebase_vector_storage: 1_000 };
const writable: OtherBot = { id: 'bot-2', role: 'developer', workspaceId: 'workspace-2', quotas };

function copyAs(as: Partial<BotCaller>, destinationKey = 'copy') {
  const caller = new BotFiles(service, 'bot-1', { credential: 'pat', account, role: 'owner', ...as });
  return caller.ask(files.copy, { idOrKey: source, destinationKey, destinationBotId: 'bot-2', overwrite: true });
}

const forbidden = {
  type: 'Forbidden',
  message: 'x-destination-bot-id "bot-2": bot not found, or no write access with this token.',
};

describe('a copy to the other bot of the caller, without admin', () => {
  it.each<[OtherBot['role']]>([['owner'], ['developer']])(
    'copies a file to another bot by the role %s of the caller in it, without admin',
    async (role) => {
      const { file } = await copyAs({ otherBot: { ...writable, role } });

      expect(file).toMatchObject({ botId: 'bot-2', key: 'copy', size: 7 });
      const [row] = (await new BotFiles(service, 'bot-2').list()).files;
      expect(row).toMatchObject({ key: 'copy' });
    },
  );

  it.each<[OtherBot['role']]>([['viewer'], ['billing'], [null]])(
    'refuses a copy to another bot with the role %s in it',
    async (role) => {
      await expect(copyAs({ otherBot: { ...writable, role } })).rejects.toMatchObject(forbidden);
    },
  );

  it('refuses a copy beyond the quota of the workspace of the destination bot', async () => {
    const full = { ...writable, workspaceId: 'workspace-3', quotas: { ...quotas, storage_count: 1 } };

    await expect(copyAs({ otherBot: full }, 'too-much')).rejects.toMatchObject({ type: 'QuotaExceeded' });
  });

  it('refuses copies to another bot by keys of bots, users and integrations, whatever role the caller has in it', async () => {
    for (const as of [
      { credential: 'bak', account: undefined },
      { user: { id: 'user-1' } },
      { integration: { id: 'intver_1', alias: 'one' } },
    ] as const)
      await expect(copyAs({ ...as, otherBot: writable })).rejects.toMatchObject(forbidden);
  });

  it('returns 503 without admin when the caller brings no role in the destination bot', async () => {
    for (const otherBot of [undefined, { ...writable, id: 'bot-3' }])
      await expect(copyAs({ otherBot })).rejects.toMatchObject({ type: 'Internal', code: 503 });
  });
});
