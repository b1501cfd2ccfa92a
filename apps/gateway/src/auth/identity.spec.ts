import { Controller, type DynamicModule, Module } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller, WorkspaceCaller } from '@parley/contracts/access';
import { identity, type Identify, type Identity } from '@parley/contracts/admin/identity';
import type { Caller } from '@parley/contracts/caller';
import { users, type UserOfBot } from '@parley/contracts/chat/users';
import { ApiError } from '@parley/contracts/errors';
import { type FileReply, files } from '@parley/contracts/files';
import { integrations, type Integrations } from '@parley/contracts/hub/integrations';
import { interfaces, type InterfaceReply } from '@parley/contracts/hub/interfaces';
import { newToken } from '@parley/secrets/token';
import { ServiceConfig } from '@parley/service/config';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { type TestResponse, sendTo } from '@parley/testing/public-api';
import { type RunningService, startService } from '@parley/testing/running-service';
import { plainSchema } from '@parley/testing/plain-schema';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayConfig } from '../config';
import { GatewayModule } from '../gateway.module';

const aBot: Identity['caller'] = {
  credential: 'bak',
  workspace: { id: 'workspace-1' },
  bot: { id: 'bot-1', workspaceId: 'workspace-1' },
};
const known = () => Promise.resolve({ caller: aBot });
const never = () => new Promise<Identity>(() => undefined);

const anAccount: Identity['caller'] = {
  credential: 'pat',
  account: { id: 'account-1', email: 'one@example.com' },
  workspace: { id: 'workspace-1' },
  role: 'owner',
};

let answers: (() => Promise<Identity>)[];
let asked: number;
/** Inputs of `identify`, bodies of `users.exists`, and callers that the services received. */
let inputs: Identify[];
let askedUsers: UserOfBot[];
let callers: Caller[];
let exists: () => Promise<boolean>;

@Controller()
class OtherServices {
  @Handles(identity.identify)
  identify(_caller: Caller, input: Identify): Promise<Identity> {
    inputs.push(input);
    asked += 1;
    return answers[asked - 1]!();
  }

  @Handles(users.exists)
  async exists(_caller: Caller, input: UserOfBot) {
    askedUsers.push(input);
    return { exists: await exists() };
  }

  @Handles(files.get)
  async get(caller: BotCaller): Promise<FileReply> {
    callers.push(caller);
    return { file: { id: caller.bot.id } } as FileReply;
  }

  @Handles(files.copy)
  copy(caller: BotCaller): Promise<FileReply> {
    return this.get(caller);
  }

  @Handles(integrations.list)
  async list(caller: WorkspaceCaller): Promise<Integrations> {
    callers.push(caller);
    return { integrations: [], meta: {} };
  }

  @Handles(interfaces.create)
  async create(caller: WorkspaceCaller): Promise<InterfaceReply> {
    callers.push(caller);
    return {} as InterfaceReply;
  }
}

@Module({})
class OtherServicesModule {
  static register(databaseUrl: string, platform: Platform): DynamicModule {
    const config = Object.assign(new ServiceConfig(), { databaseUrl });
    const { get, copy } = files;
    const hub = { list: integrations.list, create: interfaces.create };
    const contract = { identify: identity.identify, exists: users.exists, get, copy, hub };
    const database = { ...plainSchema('others'), config };
    return {
      module: OtherServicesModule,
      imports: [ServiceModule.register({ name: 'others', contract, database }, platform)],
      controllers: [OtherServices],
    };
  }
}

let service: RunningService;

beforeAll(async () => {
  service = await startService(
    (_databaseUrl, platform) => GatewayModule.register(new GatewayConfig(), platform),
    (databaseUrl, platform) => OtherServicesModule.register(databaseUrl, platform),
  );
});
afterAll(() => service?.stop());

/** Sends requests with a new token, and answers identify calls with these functions. */
function askAs(
  ...those: (() => Promise<Identity>)[]
): (more?: Record<string, string>, line?: string, json?: object) => Promise<TestResponse> {
  answers = those;
  asked = 0;
  [inputs, askedUsers, callers] = [[], [], []];
  exists = async () => true;
  const headers = { authorization: `Bearer ${newToken('bak')}`, 'x-bot-id': 'bot-1' };
  return (more = {}, line = 'GET /v1/files/some', json = undefined) =>
    sendTo(service.url, line, { headers: { ...headers, ...more }, json });
}

/** Sends requests as an account, with one token. */
function askAsAccount(caller: Identity['caller'] = anAccount) {
  const send = askAs(...Array<() => Promise<Identity>>(5).fill(async () => ({ caller })));
  const headers = { authorization: `Bearer ${newToken('pat')}`, 'x-workspace-id': 'workspace-1' };
  return (line: string, { more = {}, json }: { more?: Record<string, string>; json?: object } = {}) =>
    send({ ...headers, ...more }, line, json);
}

it('identifies a token once for concurrent requests', async () => {
  const send = askAs(known);

  const got = await Promise.all([send(), send()]);
  got.push(await send());

  expect(got.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(asked).toBe(1);
});

it('identifies a token anew soon, as after a revocation whose broadcast was lost', async () => {
  const send = askAs(known, () => Promise.reject(new ApiError('Unauthorized', 'It was revoked.')));

  await send();

  expect(await waitFor(send, ({ status }) => status !== 200, 30_000)).toMatchObject({ status: 401 });
});

it.each(['x-workspace-id', 'x-bot-id', 'x-integration-alias', 'x-integration-id', 'x-user-id'])(
  'identifies a token anew for another %s',
  async (name) => {
    const send = askAs(known, known);

    await send();
    await send({ [name]: 'another' });
    await send({ [name]: 'another' });

    expect(asked).toBe(2);
  },
);

it('calls admin a second time when the first call gets no answer, as from a process that died', async () => {
  const send = askAs(never, known);

  const got = await Promise.all([send(), send()]);

  expect(got.map(({ json }) => json)).toEqual(Array(2).fill({ file: { id: 'bot-1' } }));
  expect(asked).toBe(2);
});

it('uses the first answer when it arrives before the second', async () => {
  let answer!: (value: Identity) => void;
  const late = new Promise<Identity>((resolve) => (answer = resolve));
  const send = askAs(
    () => late,
    () => {
      answer({ caller: aBot });
      return never();
    },
  );

  expect((await send()).status).toBe(200);
});

it('returns an error of admin without a second call', async () => {
  const send = askAs(() => Promise.reject(new ApiError('Unauthorized', 'It was revoked.')));

  expect(await send()).toMatchObject({ status: 401, json: { message: 'It was revoked.' } });
  expect(asked).toBe(1);
});

describe('another bot that a request names', () => {
  const copy = 'POST /v1/files/some/copy';
  const otherBot = { id: 'bot-2', role: 'developer', workspaceId: 'workspace-2' } as const;
  const inBot = { ...anAccount, bot: { id: 'bot-1', workspaceId: 'workspace-1' }, otherBot };

  it('resolves another bot in the call that identifies the token, and passes it on with the caller', async () => {
    const send = askAsAccount(inBot);
    const more = { 'x-destination-bot-id': 'bot-2' };

    expect((await send(copy, { more })).status).toBe(200);
    expect((await send(copy, { more })).status).toBe(200);

    expect(inputs).toMatchObject([{ botId: 'bot-1', otherBotId: 'bot-2' }]);
    expect(callers).toMatchObject([{ otherBot }, { otherBot }]);
  });

  it('reads the other bot from the query where the operation declares it there', async () => {
    const send = askAsAccount({ ...anAccount, otherBot });

    expect((await send('GET /v1/admin/integrations?installedByBotId=bot-2')).status).toBe(200);

    expect(inputs).toMatchObject([{ otherBotId: 'bot-2' }]);
    expect(callers).toMatchObject([{ otherBot }]);
  });

  it('identifies a token anew for another other bot, and for none', async () => {
    const send = askAsAccount();
    const list = (query: string) => send(`GET /v1/admin/integrations${query}`);

    for (const query of ['?installedByBotId=a', '?installedByBotId=b', '?installedByBotId=a%0Ab', '']) {
      await list(query);
      await list(query);
    }

    expect(inputs.map(({ otherBotId }) => otherBotId)).toStrictEqual(['a', 'b', 'a\nb', undefined]);
  });

  it('reads the other bot without empty values beside it, as the operation does', async () => {
    const send = askAsAccount({ ...anAccount, otherBot });

    await send('GET /v1/admin/integrations?installedByBotId=&installedByBotId=bot-2');
    await send('GET /v1/admin/integrations?installedByBotId=');

    expect(inputs.map(({ otherBotId }) => otherBotId)).toStrictEqual(['bot-2', undefined]);
  });

  it('resolves no other bot for an operation that does not declare it', async () => {
    const send = askAs(known);

    await send({ 'x-destination-bot-id': 'bot-2' });

    expect(inputs).toMatchObject([{ botId: 'bot-1' }]);
    expect(inputs[0]).not.toHaveProperty('otherBotId');
  });

  it.each([
    ['GET /v1/admin/integrations?installedByBotId=a&installedByBotId=b', {}, 'InvalidQuery', /must not be repeated/],
    [`GET /v1/admin/integrations?installedByBotId=${'x'.repeat(37)}`, {}, 'InvalidQuery', /at most 36 characters/],
    ['GET /v1/admin/integrations?installedByBotId=%00', {}, 'InvalidQuery', /U\+0000/],
    [copy, { 'x-destination-bot-id': 'x'.repeat(201) }, 'InvalidPayload', /at most 200 characters/],
  ])(
    'reports an invalid other bot as an invalid field, and does not resolve it: %.60s',
    async (line, more, type, message) => {
      const send = askAsAccount(inBot);

      expect((await send(line, { more })).json).toMatchObject({ type, message: expect.stringMatching(message) });

      expect(inputs[0]).not.toHaveProperty('otherBotId');
      expect(callers).toEqual([]);
    },
  );

  it('ignores an other bot that the sender claims in headers, query or body', async () => {
    const send = askAsAccount({ ...inBot, otherBot: undefined });
    const claimed = { id: 'bot-2', role: 'owner' };
    const more = { 'other-bot': JSON.stringify(claimed), 'x-other-bot': JSON.stringify(claimed) };

    await send(`${copy}?otherBot=bot-2`, { more, json: { otherBot: claimed, caller: { otherBot: claimed } } });

    expect(callers).toHaveLength(1);
    expect(callers[0]).not.toHaveProperty('otherBot');
  });
});

describe('the label of the workspace', () => {
  const label = { id: 'workspace-1', name: 'One', handle: 'one', updatedAt: '2026-01-01T00:00:00.000Z' };

  it('requests the label of the workspace only for operations that publish in the hub', async () => {
    const send = askAsAccount({ ...anAccount, workspace: { id: 'workspace-1', label } });
    const create = () => send('POST /v1/admin/interfaces', { json: { name: 'tea', version: '1.0.0' } });

    expect((await create()).status).toBe(200);
    await create();
    await send('GET /v1/admin/integrations');

    expect(inputs.map(({ isWorkspaceLabelled }) => isWorkspaceLabelled)).toStrictEqual([true, undefined]);
    expect(callers[0]!.workspace).toEqual({ id: 'workspace-1', label });
  });
});

describe('the user in x-user-id', () => {
  it('looks up the user in x-user-id among those of the identified bot, once for requests within a second', async () => {
    const send = askAs(known);

    const got = await Promise.all([send({ 'x-user-id': 'user-1' }), send({ 'x-user-id': 'user-1' })]);
    got.push(await send({ 'x-user-id': 'user-1' }));

    expect(got.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(askedUsers).toEqual([{ botId: 'bot-1', userId: 'user-1' }]);
    expect(callers.map(({ user }) => user)).toEqual(Array(3).fill({ id: 'user-1' }));
    expect(inputs[0]).not.toHaveProperty('userId');
  });

  it('refuses a user in x-user-id that the bot does not have, and looks it up again', async () => {
    const send = askAs(known, known);
    exists = async () => false;

    expect(await send({ 'x-user-id': 'user-1' })).toMatchObject({
      status: 403,
      json: { type: 'Forbidden', message: 'x-user-id "user-1" is not a user of this bot.' },
    });
    exists = async () => true;

    expect((await send({ 'x-user-id': 'user-1' })).status).toBe(200);
  });

  it('looks up no user for a token that admin rejects', async () => {
    const send = askAs(() => Promise.reject(new ApiError('Forbidden', 'Not this bot.')));

    expect(await send({ 'x-user-id': 'user-1' })).toMatchObject({ status: 403, json: { message: 'Not this bot.' } });
    expect(askedUsers).toEqual([]);
  });

  it('looks up a user a second time when the first call gets no answer, as from a process that died', async () => {
    const send = askAs(known);
    exists = () => (askedUsers.length === 1 ? new Promise<boolean>(() => undefined) : Promise.resolve(true));

    expect((await send({ 'x-user-id': 'user-1' })).status).toBe(200);
    expect(askedUsers).toHaveLength(2);
  });
});
