import { Database } from '@parley/persistence/database';
import { hashToken, newToken } from '@parley/secrets/token';
import { type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { startService } from '@parley/testing/running-service';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { AdminConfig } from '../../config';
import { BootstrapService } from './bootstrap.service';

let api: PublicApi;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
});

afterAll(() => api?.stop());

describe('the first start', () => {
  it('creates an account, the workspace "default" and the configured token at the first start', async () => {
    const { workspaces } = await api.client(api.settings.bootstrapToken).listWorkspaces({});

    expect(workspaces).toHaveLength(1);
    expect(workspaces[0]).toMatchObject({ handle: 'default', name: 'Default', botCount: 0 });
    expect(
      await api.sql('SELECT email, role FROM admin.account JOIN admin.workspace_member ON account_id = account.id'),
    ).toEqual([{ email: 'admin@parley.local', role: 'owner' }]);
  });

  it('stores only the hash of the first token', async () => {
    const rows = await api.sql('SELECT * FROM admin.token');

    expect(rows).toHaveLength(1);
    expect(rows[0]!['hash']).toBe(hashToken(api.settings.bootstrapToken));
    expect(JSON.stringify(rows)).not.toContain(api.settings.bootstrapToken.slice(0, 14));
  });

  it('creates one account when many processes start concurrently, and none later', async () => {
    const starts = Array.from({ length: 3 }, () => newToken('pat')).map(
      (bootstrapToken): Parameters<typeof startService>[number] =>
        (databaseUrl, platform) =>
          AdminModule.register(
            Object.assign(new AdminConfig(), { ...api.settings, bootstrapToken, databaseUrl }),
            platform,
          ),
    );

    const service = await startService(...starts);
    try {
      await service.apps[0]!.get(BootstrapService, { strict: false }).onModuleInit();

      const counts = await service.apps[0]!.get(Database, { strict: false }).query(
        `SELECT (SELECT count(*)::int FROM account) AS accounts, (SELECT count(*)::int FROM workspace) AS workspaces,
                (SELECT count(*)::int FROM token) AS tokens`,
      );
      expect(counts).toEqual([{ accounts: 1, workspaces: 1, tokens: 1 }]);
    } finally {
      await service.stop();
    }
  });
});
