import { type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { AdminModule } from '../admin.module';

let door: FrontDoor;

beforeAll(async () => {
  door = await startFrontDoor(GatewayModule, AdminModule);
});

afterAll(() => door?.stop());

/** A request with the operator's key, or another token. */
function ask(line: string, json?: object, token = door.operatorToken) {
  return door.send(line, { headers: { authorization: `Bearer ${token}` }, json });
}

describe('an operator', () => {
  it('makes an account with a workspace of its own, and tokens for it', async () => {
    const { status, json: account } = await ask('POST /operator/accounts', { email: 'Ann@example.com' });
    const { json: token } = await ask('POST /operator/tokens', { email: 'ann@EXAMPLE.com', note: 'laptop' });

    const client = door.client(token.value);
    const { workspaces } = await client.listWorkspaces({});
    const { pats } = await client.listPersonalAccessTokens({});

    expect(status).toBe(200);
    expect(account).toEqual({
      id: expect.any(String),
      email: 'Ann@example.com',
      workspaceId: expect.stringMatching(/^wkspace_/),
    });
    expect(workspaces).toEqual([expect.objectContaining({ id: account.workspaceId, ownerId: account.id })]);
    expect(pats).toEqual([expect.objectContaining({ note: 'laptop' })]);
  });

  it('makes one account for an address, however it is written and however often it is asked for', async () => {
    const answers = await Promise.all(
      ['one@example.com', 'ONE@example.com', 'one@example.com'].map((email) =>
        ask('POST /operator/accounts', { email }),
      ),
    );

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(answers.find(({ status }) => status === 409)!.json).toMatchObject({
      type: 'AlreadyExists',
      message: expect.stringMatching(/^email "one@example.com" has an account/i),
    });
  });

  it('makes an account with the longest address, whose workspace can still be renamed', async () => {
    const email = `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.example`;

    const { status, json } = await ask('POST /operator/accounts', { email });
    const { value } = (await ask('POST /operator/tokens', { email })).json;
    const client = door.client(value);
    const workspace = await client.getWorkspace({ id: json.workspaceId });

    expect(status).toBe(200);
    expect(workspace.name.length).toBeLessThanOrEqual(64);
    await expect(client.updateWorkspace({ id: workspace.id, name: workspace.name })).resolves.toMatchObject({
      name: workspace.name,
    });
  });

  it.each([[{}], [{ email: null }], [{ email: 'ann' }], [{ email: 5 }], [{ email: 'a@b@c.de' }]])(
    'is told what is wrong with %j',
    async (body) => {
      for (const line of ['POST /operator/accounts', 'POST /operator/tokens']) {
        expect(await ask(line, body)).toMatchObject({
          status: 400,
          json: { type: 'InvalidPayload', message: expect.stringMatching(/^email must be/) },
        });
      }
    },
  );

  it('makes no token for an address without an account', async () => {
    expect(await ask('POST /operator/tokens', { email: 'nobody@example.com' })).toMatchObject({
      status: 400,
      json: { type: 'ReferenceNotFound', message: expect.stringContaining('nobody@example.com') },
    });
  });

  it.each(['GET /v1/admin/account/pats', 'GET /v1/admin/workspaces', 'GET /v1/admin/bots', 'GET /v1/files'])(
    'may not %s',
    async (line) => {
      const headers = { authorization: `Bearer ${door.operatorToken}`, 'x-workspace-id': 'w', 'x-bot-id': 'b' };

      expect(await door.send(line, { headers })).toMatchObject({
        status: 403,
        json: { type: 'Forbidden', message: expect.stringContaining('operator key') },
      });
    },
  );

  it('is nobody else: no personal token and no bot key may call its operations', async () => {
    const account = await door.newAccount();
    const { bot } = await account.client.createBot({});
    const { value } = await account.client.createBotApiKey({ botId: bot.id });

    for (const token of [account.token, value, door.settings.bootstrapToken]) {
      for (const line of [
        'POST /operator/accounts',
        'POST /operator/tokens',
        'GET /operator/admin/dead-letters',
        'POST /operator/admin/dead-letters/replay',
      ]) {
        expect(await ask(line, line.startsWith('GET') ? undefined : { email: 'x@example.com' }, token)).toMatchObject({
          status: 403,
          json: { type: 'Forbidden' },
        });
      }
    }
  });

  it('sees no dead letters where none are', async () => {
    expect(await ask('GET /operator/admin/dead-letters')).toMatchObject({ status: 200, json: { deadLetters: [] } });
    expect(await ask('POST /operator/admin/dead-letters/replay', {})).toMatchObject({
      status: 200,
      json: { replayed: 0 },
    });
  });
});
