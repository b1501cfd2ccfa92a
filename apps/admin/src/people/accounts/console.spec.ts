import { type Account, type PublicApi, consoleCode, startPublicApi } from '@parley/testing/public-api';
import { hashToken } from '@parley/secrets/token';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { ConsoleService } from './console.service';

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  alice = await api.newAccount();
});

afterAll(() => api?.stop());

const redeem = (code: unknown) => api.send('POST /console/sessions', { json: { code } });
const refused = {
  status: 401,
  json: { type: 'Unauthorized', message: expect.stringContaining('npm run parley -- console link') },
};

it('exchanges a console code for a listed token that expires after 12 hours and can be revoked', async () => {
  const { status, json } = await redeem(await consoleCode(api, alice));

  const session = json as { token: string; tokenId: string; expiresAt: string };
  const client = api.client(session.token);
  const { pats } = await client.listPersonalAccessTokens({});
  expect(status).toBe(200);
  expect((Date.parse(session.expiresAt) - Date.now()) / 3_600_000).toBeCloseTo(12, 1);
  expect(pats).toContainEqual({ id: session.tokenId, note: 'Console', createdAt: expect.any(String) });
  expect((await client.getAccount({})).account.email).toBe(alice.email);

  await client.deletePersonalAccessToken({ id: session.tokenId });

  await expect(api.client(session.token).getAccount({})).rejects.toMatchObject({ type: 'Unauthorized' });
});

it('stores a console code as a hash, and accepts it once', async () => {
  const code = await consoleCode(api, alice);

  const [row] = await api.sql('SELECT * FROM admin.console_link WHERE hash = $1', [hashToken(code)]);
  expect(row).toMatchObject({ account_id: alice.accountId });
  expect((await redeem(code)).status).toBe(200);
  expect(await redeem(code)).toMatchObject(refused);
});

it('lets one of two concurrent requests with the same console code succeed', async () => {
  const code = await consoleCode(api, alice);

  const answers = await Promise.all([redeem(code), redeem(code)]);

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
});

it('gives the same answer to an unknown console code and an expired one', async () => {
  const code = await consoleCode(api, alice);
  await api.sql(`UPDATE admin.console_link SET valid_until = now() - interval '1 ms' WHERE hash = $1`, [
    hashToken(code),
  ]);

  expect(await redeem(code)).toMatchObject(refused);
  expect(await redeem('unknown')).toMatchObject(refused);
});

it('gives a console code five minutes', async () => {
  await consoleCode(api, alice);

  const [newest] = await api.sql<{ minutes: number }>(
    `SELECT round(extract(epoch FROM max(valid_until) - now()) / 60)::int AS minutes FROM admin.console_link`,
  );

  expect(newest!.minutes).toBeGreaterThan(0);
  expect(newest!.minutes).toBeLessThanOrEqual(5);
});

it('requires a console code, within its length limit', async () => {
  for (const code of [undefined, null, 5, '', 'x'.repeat(101)])
    expect(await redeem(code)).toMatchObject({ status: 400, json: { type: 'InvalidPayload' } });
});

it('refuses an expired session, and does not list it', async () => {
  const { json } = await redeem(await consoleCode(api, alice));
  const { token, tokenId } = json as { token: string; tokenId: string };
  await api.sql(`UPDATE admin.token SET valid_until = now() - interval '1 ms' WHERE id = $1`, [tokenId]);

  await expect(api.client(token).getAccount({})).rejects.toMatchObject({ type: 'Unauthorized' });
  const { pats } = await alice.client.listPersonalAccessTokens({});
  expect(pats.map(({ id }) => id)).not.toContain(tokenId);
});

it('deletes expired codes and sessions, and keeps valid ones', async () => {
  const [gone, stays] = [await consoleCode(api, alice), await consoleCode(api, alice)];
  const { tokenId } = (await redeem(await consoleCode(api, alice))).json as { tokenId: string };
  await api.sql(`UPDATE admin.console_link SET valid_until = now() - interval '1 ms' WHERE hash = $1`, [
    hashToken(gone),
  ]);
  await api.sql(`UPDATE admin.token SET valid_until = now() - interval '1 ms' WHERE id = $1`, [tokenId]);

  await api.apps[1]!.get(ConsoleService, { strict: false }).deleteExpired();

  expect(await api.sql('SELECT 1 FROM admin.console_link WHERE hash = $1', [hashToken(gone)])).toEqual([]);
  expect(await api.sql('SELECT 1 FROM admin.token WHERE id = $1', [tokenId])).toEqual([]);
  expect((await redeem(stays)).status).toBe(200);
});

it('creates a console link only for an account, and only for the operator', async () => {
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  const json = { email: 'nobody@example.com' };

  expect(await api.send('POST /operator/console/links', { headers, json })).toMatchObject({
    status: 400,
    json: { type: 'ReferenceNotFound', message: expect.stringContaining('nobody@example.com') },
  });
  expect(
    await api.send('POST /operator/console/links', { headers: { authorization: `Bearer ${alice.token}` }, json }),
  ).toMatchObject({ status: 403 });
});

it('signs in the account of the first start by a link without an email', async () => {
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  const { json } = await api.send('POST /operator/console/links', { headers, json: {} });
  const { url } = json as { url: string };

  expect(url).toMatch(/^http:\/\/parley\.test\/console#code=[\w-]{27}$/);
  const session = (await redeem(url.split('=')[1])).json as { token: string };
  expect((await api.client(session.token).getAccount({})).account.email).toBe('admin@parley.local');
});
