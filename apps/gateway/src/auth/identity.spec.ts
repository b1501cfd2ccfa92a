import { Controller, type DynamicModule, Module } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import { identity, type Identity } from '@parley/contracts/admin/identity';
import { ApiError } from '@parley/contracts/errors';
import { type FileReply, files } from '@parley/contracts/files';
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

let answers: (() => Promise<Identity>)[];
let asked: number;

@Controller()
class OtherServices {
  @Handles(identity.identify)
  identify(): Promise<Identity> {
    asked += 1;
    return answers[asked - 1]!();
  }

  @Handles(files.get)
  async get({ bot }: BotCaller): Promise<FileReply> {
    return { file: { id: bot.id } } as FileReply;
  }
}

@Module({})
class OtherServicesModule {
  static register(databaseUrl: string, platform: Platform): DynamicModule {
    const config = Object.assign(new ServiceConfig(), { databaseUrl });
    const contract = { identify: identity.identify, get: files.get };
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
function askAs(...those: (() => Promise<Identity>)[]): (more?: Record<string, string>) => Promise<TestResponse> {
  answers = those;
  asked = 0;
  const headers = { authorization: `Bearer ${newToken('bak')}`, 'x-bot-id': 'bot-1' };
  return (more = {}) => sendTo(service.url, 'GET /v1/files/some', { headers: { ...headers, ...more } });
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
