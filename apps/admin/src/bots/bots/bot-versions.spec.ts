import { SecretKeys } from '@parley/secrets/secret-keys';
import { newToken } from '@parley/secrets/token';
import { UrlSignature } from '@parley/secrets/url-signature';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { CodeRepository } from '../code/code.repository';

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

async function newBot(code?: string) {
  const { id } = (await alice.client.createBot({ code })).bot;
  const versions = async () => (await alice.client.listBotVersions({ id })).versions;
  return {
    id,
    versions,
    update: async (next: string) => (await alice.client.updateBot({ id, code: next })).bot,
    urlOf: async (versionId: string) => (await alice.client.getBotVersion({ id, versionId })).url,
    codes: async () => {
      const codes: string[] = [];
      for (const version of await versions()) {
        codes.push(await download((await alice.client.getBotVersion({ id, versionId: version.id })).url));
      }
      return codes;
    },
    code: async () => {
      const rows = await api.sql<{ code: string }>(
        `SELECT code FROM admin.bot JOIN admin.bot_version version ON version.id = version_id
         JOIN admin.bot_code ON bot_code.bot_id = bot.id AND hash = code_hash WHERE bot.id = $1`,
        [id],
      );
      return rows[0]?.code;
    },
    storedCodes: async () => (await api.sql('SELECT 1 FROM admin.bot_code WHERE bot_id = $1', [id])).length,
  };
}

function reachable(url: string): string {
  expect(url.startsWith(`${api.settings.publicUrl}/v1/`)).toBe(true);
  return url.replace(api.settings.publicUrl, api.url);
}

async function download(url: string): Promise<string> {
  const response = await fetch(reachable(url));
  expect(response.status).toBe(200);
  return response.text();
}

async function refused(url: string) {
  const response = await fetch(url);
  return { status: response.status, ...((await response.json()) as { type: string; message: string }) };
}

async function memberWith(role: 'developer' | 'billing' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

describe('versions of a bot', () => {
  it("creates a version for each change of a bot's code, and lists versions newest first", async () => {
    const { update, codes, versions, code } = await newBot('one');

    await update('two');
    await update('three');

    expect(await codes()).toEqual(['three', 'two', 'one']);
    expect(await code()).toBe('three');
    for (const version of await versions()) {
      expect(version).toEqual({
        id: expect.stringMatching(/^botver_[0-9A-Z]{26}$/),
        name: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      });
    }
  });

  it('does not create a version when the code stays the same or is absent', async () => {
    const { id, update, codes, versions } = await newBot();
    const before = await versions();

    await update('one');
    const again = await update('one');
    await alice.client.updateBot({ id, name: 'other' });

    expect(before).toEqual([]);
    expect(await codes()).toEqual(['one']);
    expect(again.deployedAt).toBeDefined();
  });

  it('stores identical code of several versions once', async () => {
    const { id, update, codes, storedCodes } = await newBot('one');

    await update('two');
    await update('one');
    await alice.client.createBotVersion({ id, name: 'snapshot' });

    expect(await codes()).toEqual(['one', 'one', 'two', 'one']);
    expect(await storedCodes()).toBe(2);
  });

  it('accepts the empty text and any other text as code of a version', async () => {
    const { update, codes } = await newBot('');

    await update('"ü" + "\u2028" // \\u0000 and \u{1F600}');

    expect(await codes()).toEqual(['"ü" + "\u2028" // \\u0000 and \u{1F600}', '']);
  });

  it('creates a named version from the deployed code', async () => {
    const { id, versions, codes } = await newBot('one');

    const { version } = await alice.client.createBotVersion({ id, name: 'stable', description: 'Worked in May' });

    expect(version).toEqual({ id: version.id, name: 'stable', description: 'Worked in May' });
    expect((await versions())[0]).toEqual(version);
    expect(await codes()).toEqual(['one', 'one']);
  });

  it('does not create a version for a bot without code', async () => {
    const { id, versions } = await newBot();

    await expect(alice.client.createBotVersion({ id, name: 'x' })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringContaining('has no code'),
    });
    expect(await versions()).toEqual([]);
  });

  it('deploys a former version again', async () => {
    const { id, update, versions, code } = await newBot('one');
    const { updatedAt, deployedAt } = await update('two');
    const [newest, oldest] = await versions();

    await alice.client.deployBotVersion({ id, versionId: oldest!.id });
    expect(await alice.client.listBotVersions({ id })).toMatchObject({ deployedId: oldest!.id });

    const { bot } = await alice.client.getBot({ id });
    expect(await code()).toBe('one');
    expect(Date.parse(bot.updatedAt)).toBeGreaterThan(Date.parse(updatedAt));
    expect(Date.parse(bot.deployedAt!)).toBeGreaterThanOrEqual(Date.parse(deployedAt!));
    expect(await versions()).toEqual([newest, oldest]);
    await update('two');
    expect((await versions()).length).toBe(3);
  });

  it('keeps 200 versions: deletes the oldest, but neither the deployed nor the newest one', async () => {
    const { id, update, versions, storedCodes, code } = await newBot('first');
    const [first] = await versions();
    await update('second');
    await alice.client.deployBotVersion({ id, versionId: first!.id });
    await api.sql(
      `INSERT INTO admin.bot_version (id, bot_id, code_hash, name)
       SELECT 'botver_' || $1 || n, bot_id, code_hash, 'copy ' || n
       FROM admin.bot_version, generate_series(1, 197) AS n WHERE id = $2`,
      [id, first!.id],
    );

    await alice.client.createBotVersion({ id, name: 'the 200th' });
    const full = await versions();
    await alice.client.createBotVersion({ id, name: 'the 201st' });
    const afterOneMore = await versions();

    expect([full.length, afterOneMore.length]).toEqual([200, 200]);
    expect(full.at(-2)!.name).not.toBe('copy 1');
    expect(afterOneMore[0]!.name).toBe('the 201st');
    expect([afterOneMore.at(-1), afterOneMore.at(-2)]).toMatchObject([{ id: first!.id }, { name: 'copy 1' }]);
    expect([await code(), await storedCodes()]).toEqual(['first', 1]);
  });

  it('keeps versions complete and in order under concurrent changes', async () => {
    const { update, codes, code } = await newBot();
    const all = Array.from({ length: 8 }, (_, index) => `code ${index}`);

    await Promise.all(all.map((next) => update(next)));

    expect([...(await codes())].sort()).toEqual(all);
    expect((await codes())[0]).toBe(await code());
  });

  it('deletes versions with their bot', async () => {
    const { id, storedCodes, urlOf, versions } = await newBot('one');
    const url = await urlOf((await versions())[0]!.id);

    await alice.client.deleteBot({ id });

    expect(await storedCodes()).toBe(0);
    expect(await api.sql('SELECT 1 FROM admin.bot_version WHERE bot_id = $1', [id])).toEqual([]);
    expect(await refused(reachable(url))).toMatchObject({ status: 404, type: 'ResourceNotFound' });
  });

  it('reads and updates a bot without touching the table that holds its code', async () => {
    const { id, versions } = await newBot(`// ${'x'.repeat(2_000_000)}`);
    await api.sql('BEGIN');
    await api.sql('LOCK TABLE admin.bot_code IN ACCESS EXCLUSIVE MODE');

    try {
      expect((await alice.client.getBot({ id })).bot.id).toBe(id);
      expect((await alice.client.listBots({})).bots[0]!.id).toBe(id);
      expect((await alice.client.updateBot({ id, name: 'light' })).bot.name).toBe('light');
      expect(await versions()).toHaveLength(1);
    } finally {
      await api.sql('ROLLBACK');
    }
  });

  it('writes audit records for created and deployed versions', async () => {
    const { id, versions } = await newBot('one');
    await alice.client.createBotVersion({ id, name: 'stable' });
    const versionId = (await versions())[0]!.id;
    await alice.client.deployBotVersion({ id, versionId });

    const records = await api.sql(
      `SELECT action, operation, account_id, value FROM admin.audit_record
       WHERE resource_id = $1 AND operation LIKE 'admin.botVersions.%' ORDER BY recorded_at, id`,
      [id],
    );
    const common = { account_id: alice.accountId, value: 'stable' };
    expect(records).toEqual([
      { ...common, action: 'UNKNOWN', operation: 'admin.botVersions.create' },
      { ...common, action: 'DEPLOY_BOT', operation: 'admin.botVersions.deploy' },
    ]);
  });
});

it('ends the key of code five minutes after other code is deployed, and deletes it at a later deployment', async () => {
  const { id, update, versions } = await newBot('one');
  const version = (await versions())[0]!.id;
  const deployed = { ownerId: id, workspaceId: alice.workspaceId, version, revision: version };
  const keys = () =>
    api.sql<{ seconds: number | null }>(
      'SELECT extract(epoch FROM valid_until - now())::float8 AS seconds FROM admin.token WHERE bot_id = $1',
      [id],
    );
  await api.apps[1]!.get(CodeRepository, { strict: false }).storeBotKey(deployed, newToken('bak'));
  expect(await keys()).toEqual([{ seconds: null }]);

  await update('two');
  const [ending] = await keys();
  await api.sql('UPDATE admin.token SET valid_until = now() WHERE bot_id = $1', [id]);
  await update('three');

  expect(ending!.seconds).toBeGreaterThan(4 * 60);
  expect(ending!.seconds).toBeLessThanOrEqual(5 * 60);
  expect(await keys()).toEqual([]);
});

describe('the URL of a version', () => {
  it('returns the code of a version as text that no browser runs, without any other credential', async () => {
    const { versions, urlOf } = await newBot('export default 1;');
    const url = reachable(await urlOf((await versions())[0]!.id));

    const response = await fetch(url);

    expect(await response.text()).toBe('export default 1;');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining('sandbox'),
    });
  });

  it('signs the URL of a version for this version only, unaltered, for 15 minutes', async () => {
    const { id, update, versions, urlOf } = await newBot('one');
    await update('two');
    const [newest, oldest] = await versions();
    const url = new URL(reachable(await urlOf(newest!.id)));
    const expiresInMs = Number(url.searchParams.get('expires')) * 1000 - Date.now();
    const altered = (change: (copy: URL) => void) => {
      const copy = new URL(url);
      change(copy);
      return copy.href;
    };
    const keys = new SecretKeys(api.settings).derive('bot-code-urls');
    const late = new UrlSignature(keys).sign(['GET', id, newest!.id], {}, new Date(Date.now() - 1000));

    expect(expiresInMs).toBeGreaterThan(14 * 60_000);
    expect(expiresInMs).toBeLessThanOrEqual(15 * 60_000);
    for (const wrong of [
      altered((copy) => (copy.pathname = copy.pathname.replace(newest!.id, oldest!.id))),
      altered((copy) => copy.searchParams.set('expires', '9999999999')),
      altered((copy) => copy.searchParams.set('signature', 'x')),
    ]) {
      expect(await refused(wrong)).toMatchObject({
        status: 403,
        type: 'Forbidden',
        message: expect.stringMatching(/signature/),
      });
    }
    expect(await refused(altered((copy) => (copy.search = late)))).toMatchObject({
      status: 403,
      message: expect.stringContaining('expired'),
    });
    expect(await refused(altered((copy) => (copy.search = '')))).toMatchObject({ status: 400, type: 'InvalidQuery' });
  });
});

describe('permission to use versions', () => {
  it('requires the role developer to write versions and viewer to read them', async () => {
    const { id, versions } = await newBot('one');
    const versionId = (await versions())[0]!.id;
    const [developer, viewer, billing] = await Promise.all([
      memberWith('developer'),
      memberWith('viewer'),
      memberWith('billing'),
    ]);

    await developer.createBotVersion({ id, name: 'x' });
    await developer.deployBotVersion({ id, versionId });
    expect((await viewer.listBotVersions({ id })).versions).toHaveLength(2);
    expect((await viewer.getBotVersion({ id, versionId })).url).toContain(versionId);
    for (const attempt of [
      () => viewer.createBotVersion({ id, name: 'x' }),
      () => viewer.deployBotVersion({ id, versionId }),
      () => billing.listBotVersions({ id }),
      () => billing.getBotVersion({ id, versionId }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ type: 'Forbidden' });
    }
  });

  it('returns 404 for versions of a bot of another workspace', async () => {
    const { id, versions } = await newBot('one');
    const versionId = (await versions())[0]!.id;
    const own = (await bob.client.createBot({ code: 'mine' })).bot.id;

    for (const attempt of [
      () => bob.client.listBotVersions({ id }),
      () => bob.client.getBotVersion({ id, versionId }),
      () => bob.client.getBotVersion({ id: own, versionId }),
      () => bob.client.createBotVersion({ id, name: 'x' }),
      () => bob.client.deployBotVersion({ id, versionId }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ type: 'ResourceNotFound' });
    }
    await expect(bob.client.deployBotVersion({ id: own, versionId })).rejects.toMatchObject({
      type: 'ReferenceNotFound',
      message: `versionId: the bot has no version "${versionId}".`,
    });
    expect(await versions()).toHaveLength(1);
  });
});
