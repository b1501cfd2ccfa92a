import { Controller, type DynamicModule, Module } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { callers, type ChatBot } from '@parley/contracts/chat/callers';
import { chatApi } from '@parley/contracts/chat-api/chat-api';
import type { ChatApiRequest, ChatUserReply, CreatedChatUser } from '@parley/contracts/chat-api/users';
import { type Listener, signals } from '@parley/contracts/chat/signals';
import { ApiError } from '@parley/contracts/errors';
import type { Empty } from '@parley/contracts/paging';
import { webhooks } from '@parley/contracts/runtime/webhooks';
import { newToken } from '@parley/secrets/token';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { plainSchema } from '@parley/testing/plain-schema';
import {
  type Account,
  type AdminSettings,
  type GatewaySettings,
  type PublicApi,
  type SendOptions,
  startPublicApi,
} from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../admin/src/admin.module';
import { GatewayModule } from './gateway.module';

const turnsOfNetwork = 2;
const userKey = { 'x-user-key': 'good' };

/** Visitors of the webhook `slow` wait until this resolves. */
let held: Promise<void>;
let release: () => void;
let working = 0;
let mostWorking = 0;
let isKeyGood = true;

/** Chat and runtime: every webhook id has a chat, and no integration a webhook. */
@Controller()
class OtherServices {
  @Handles(chatApi.hello)
  async hello(_caller: Caller, { webhookId }: ChatApiRequest): Promise<Empty> {
    working += 1;
    if (webhookId === 'slow') await held;
    working -= 1;
    return {};
  }

  @Handles(chatApi.createUser)
  async createUser(): Promise<CreatedChatUser> {
    working += 1;
    mostWorking = Math.max(mostWorking, working);
    await new Promise(setImmediate);
    working -= 1;
    return { user: { id: 'user' }, key: 'key' } as CreatedChatUser;
  }

  @Handles(chatApi.getUser)
  async getUser(caller: Caller): Promise<ChatUserReply> {
    await this.verify(caller);
    return { user: { id: 'user' } } as ChatUserReply;
  }

  @Handles(chatApi.updateUser)
  updateUser(caller: Caller): Promise<ChatUserReply> {
    return this.getUser(caller);
  }

  @Handles(callers.verify)
  async verify({ userKey: key }: Caller): Promise<ChatBot> {
    if (key !== undefined && !(key === userKey['x-user-key'] && isKeyGood))
      throw new ApiError('Unauthorized', 'The key is not valid.');
    return { botId: 'bot' };
  }

  @Handles(signals.open)
  async open(caller: Caller): Promise<Listener> {
    await this.verify(caller);
    return { botId: 'bot', conversationId: 'conv_1', userId: 'user' };
  }

  @Handles(webhooks.require)
  async require(): Promise<Empty> {
    throw new ApiError('ResourceNotFound', 'There is no webhook.');
  }
}

@Module({})
class OtherServicesModule {
  static register(config: AdminSettings, platform: Platform): DynamicModule {
    const { hello, createUser, getUser, updateUser } = chatApi;
    const internal = { verify: callers.verify, open: signals.open, require: webhooks.require };
    const contract = { hello, createUser, getUser, updateUser, ...internal };
    const database = { ...plainSchema('others'), config };
    return {
      module: OtherServicesModule,
      imports: [ServiceModule.register({ name: 'others', contract, database }, platform)],
      controllers: [OtherServices],
    };
  }
}

let api: PublicApi;
let alice: Account;

async function open(gatewayMaxInFlight: number): Promise<void> {
  const gateway = {
    register: (config: GatewaySettings, platform: Platform) =>
      GatewayModule.register({ ...config, gatewayMaxInFlight }, platform),
  };
  api = await startPublicApi(gateway, AdminModule, OtherServicesModule);
  alice = await api.newAccount();
  await asAlice();
  await asUser();
}

const asAlice = () => api.send('GET /v1/admin/account/pats', { headers: { authorization: `Bearer ${alice.token}` } });
const askAsOperator = (token: string) =>
  api.send('GET /operator/files/stuck', { headers: { authorization: `Bearer ${token}` } });
const asUser = () => api.send('GET /chat/hook/users/me', { headers: userKey });

beforeEach(() => {
  isKeyGood = true;
  held = new Promise((resolve) => (release = resolve));
});

/** Visitors who hold all turns of this machine until `release`. */
async function holdTurns() {
  const visitors = Array.from({ length: turnsOfNetwork }, () => api.send('GET /chat/slow/hello'));
  await waitFor(() => working === turnsOfNetwork);
  return visitors;
}

/** Sends the request, and says later whether it was answered. */
function begin(line: string, options?: SendOptions) {
  const begun = { isAnswered: false, answer: api.send(line, options) };
  void begun.answer.then(() => (begun.isAnswered = true));
  return begun;
}

const forgedKey = { headers: { 'x-user-key': 'forged' } };
const strangers: [string, number, string, SendOptions?][] = [
  ['a forged token', 401, 'GET /v1/admin/bots', { headers: { authorization: `Bearer ${newToken('pat')}` } }],
  ['a malformed token', 401, 'GET /v1/admin/bots', { headers: { authorization: 'Bearer none' } }],
  ['no token', 401, 'GET /v1/admin/bots'],
  ['a forged user key', 401, 'GET /chat/hook/users/me', forgedKey],
  ['a forged user key and a body', 401, 'PUT /chat/hook/users/me', { ...forgedKey, json: {} }],
  ['a forged user key for a stream', 401, 'GET /chat/hook/conversations/conv_1/listen', forgedKey],
  ['no user key', 201, 'POST /chat/hook/users', { json: {} }],
  ['no user key and an invalid body', 400, 'POST /chat/hook/users', { json: { name: 1 } }],
  ['an unknown webhook id', 404, 'POST /webhooks/unknown', { json: {} }],
  ['an unknown webhook id and no body', 404, 'GET /webhooks/unknown'],
  ['an unknown id of a web chat', 404, 'GET /webchat/unknown/settings'],
  ['a page as origin', 200, 'GET /chat/unknown/hello', { headers: { origin: 'https://example.com' } }],
  ['an unknown path', 404, 'GET /v1/unknown'],
  ['the address of the documentation', 200, 'GET /openapi.json'],
  ['the address of a page that is not built', 503, 'GET /console'],
];

describe('A gateway', () => {
  beforeAll(() => open(2_000));
  afterAll(() => api?.stop());
  afterEach(() => release());

  it('delays a request without a confirmed credential until its turn, and no other request', async () => {
    const visitors = await holdTurns();
    const begun = strangers.map(([, , line, options]) => begin(line, options));

    const confirmed = [await asAlice(), await asUser()];

    expect(confirmed.map(({ status }) => status)).toEqual([200, 200]);
    expect(strangers.filter((_stranger, index) => begun[index]!.isAnswered)).toEqual([]);
    release();
    const answers = await Promise.all(begun.map(({ answer }) => answer));
    expect(answers.map(({ status }, index) => [strangers[index]![0], status])).toEqual(
      strangers.map(([name, status]) => [name, status]),
    );
    await Promise.all(visitors);
  });

  it('delays a credential again once it was rejected', async () => {
    isKeyGood = false;
    const rejected = await asUser();
    isKeyGood = true;
    const visitors = await holdTurns();

    const begun = begin('GET /chat/hook/users/me', { headers: userKey });
    await asAlice();

    expect([rejected.status, begun.isAnswered]).toEqual([401, false]);
    release();
    expect((await begun.answer).status).toBe(200);
    expect((await asUser()).status).toBe(200);
    await Promise.all(visitors);
  });

  it('creates all users of a burst, two at a time', async () => {
    const burst = Array.from({ length: 100 }, () => api.send('POST /chat/hook/users', { json: {} }));

    const answers = await Promise.all(burst);

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(mostWorking).toBe(turnsOfNetwork);
  });
});

describe('A gateway with few request slots', () => {
  beforeAll(() => open(40));
  afterAll(() => api?.stop());
  afterEach(() => release());

  it('rejects unconfirmed requests with 503 when a quarter of the slots waits, and no other request', async () => {
    const visitors = await holdTurns();
    visitors.push(...Array.from({ length: 3 }, () => api.send('GET /chat/slow/hello')));

    const refused = await api.send('GET /chat/slow/hello');

    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect((await asAlice()).status).toBe(200);
    expect((await asUser()).status).toBe(200);
    // The operator may have been unknown until now.
    expect((await askAsOperator(newToken('operator'))).status).toBe(401);
    release();
    const answers = await Promise.all(visitors);
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
  });
});
