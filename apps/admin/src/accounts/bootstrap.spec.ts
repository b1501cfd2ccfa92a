import { type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import { startService } from '@parley/testing/running-service';
import { newToken } from '@parley/secrets/token';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { AdminModule } from '../admin.module';
import { AdminConfig } from '../config';
import { hashToken } from '@parley/secrets/token';
import { Database } from '@parley/database/database';

let door: FrontDoor;

beforeAll(async () => {
  door = await startFrontDoor({
    gateway: (config, platform) => GatewayModule.register(config, platform),
    admin: (config, platform) => AdminModule.register(config, platform),
  });
});

afterAll(() => door?.stop());

describe('the first start', () => {
  it('makes an account, the workspace "default" and the token that it was given', async () => {
    const { workspaces } = await door.client(door.settings.bootstrapToken).listWorkspaces({});

    expect(workspaces).toHaveLength(1);
    expect(workspaces[0]).toMatchObject({ handle: 'default', name: 'Default', botCount: 0 });
    expect(
      await door.sql('SELECT email, role FROM admin.account JOIN admin.workspace_member ON account_id = account.id'),
    ).toEqual([{ email: 'admin@parley.local', role: 'owner' }]);
  });

  it('keeps of the token only its hash', async () => {
    const rows = await door.sql('SELECT * FROM admin.token');

    expect(rows).toHaveLength(1);
    expect(rows[0]!['hash']).toBe(hashToken(door.settings.bootstrapToken));
    expect(JSON.stringify(rows)).not.toContain(door.settings.bootstrapToken.slice(0, 14));
  });

  it('is made once by many starts at once, and by none later', async () => {
    const tokens = [newToken('pat'), newToken('pat'), newToken('pat')];
    const configs = tokens.map((bootstrapToken) =>
      Object.assign(new AdminConfig(), { ...door.settings, bootstrapToken }),
    );
    const modules = configs.map(
      (config) => (databaseUrl: string, platform: Parameters<typeof AdminModule.register>[1]) => {
        return AdminModule.register(Object.assign(config, { databaseUrl }), platform);
      },
    );

    const service = await startService(...modules);

    const database = await Database.open({ url: service.databaseUrl, schema: 'admin', migrations: [], poolSize: 2 });
    const counts = await database.query(
      'SELECT (SELECT count(*)::int FROM account) AS accounts, (SELECT count(*)::int FROM workspace) AS workspaces, (SELECT count(*)::int FROM token) AS tokens',
    );
    await database.close();
    await service.stop();
    expect(counts).toEqual([{ accounts: 1, workspaces: 1, tokens: 1 }]);
  });
});
