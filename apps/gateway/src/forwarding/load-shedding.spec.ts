import { request } from 'node:http';
import { Controller, type DynamicModule, Module } from '@nestjs/common';
import { Semaphore } from '@parley/background/semaphore';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { FileId, FileReply } from '@parley/contracts/files';
import { files } from '@parley/contracts/files';
import { indexingWork, type StuckFiles } from '@parley/contracts/indexing-work';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { metricValue } from '@parley/testing/metric-value';
import {
  type Account,
  type AdminSettings,
  type TestResponse,
  type PublicApi,
  type GatewaySettings,
  startPublicApi,
} from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { plainSchema } from '@parley/testing/plain-schema';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../gateway.module';

const atGateway = 30;
/** Less than the limit of the service. */
const fewAtGateway = 3;
const inService = 10;
const slotCount = 2;

let held: Promise<void>;
let release: () => void;

@Controller()
class SlowController {
  private readonly slots = new Semaphore(slotCount);

  @Handles(files.get)
  get(_caller: BotCaller, { id }: FileId): Promise<FileReply> {
    return this.slots.run(async () => {
      await held;
      return { file: { id } } as FileReply;
    });
  }

  @Handles(indexingWork.listStuck)
  async listStuck(): Promise<StuckFiles> {
    return {} as StuckFiles;
  }
}

@Module({})
class SlowModule {
  static register(config: AdminSettings, platform: Platform): DynamicModule {
    const contract = { get: files.get, list: indexingWork.listStuck };
    const limited = Object.assign(Object.create(config) as AdminSettings, { serviceMaxInFlight: inService });
    const database = { ...plainSchema('slow'), config: limited };
    return {
      module: SlowModule,
      imports: [ServiceModule.register({ name: 'slow', contract, database }, platform)],
      controllers: [SlowController],
    };
  }
}

let api: PublicApi;
let alice: Account;
let headers: Record<string, string>;

async function open(atGateway: number): Promise<void> {
  const gateway = {
    register: (config: GatewaySettings, platform: Platform) =>
      GatewayModule.register({ ...config, gatewayMaxInFlight: atGateway }, platform),
  };
  api = await startPublicApi(gateway, AdminModule, SlowModule);
  alice = await api.newAccount();
  const { bot } = await alice.client.createBot({});
  headers = { authorization: `Bearer ${alice.token}`, 'x-bot-id': bot.id };
}

beforeEach(() => {
  held = new Promise((resolve) => (release = resolve));
});
afterEach(() => release());

const read = () => api.send('GET /v1/files/some', { headers });
const readMany = (count: number) => Array.from({ length: count }, read);
const statusesOf = async (answers: Promise<TestResponse>[]) => (await Promise.all(answers)).map(({ status }) => status);
const allWell = Array<number>(inService).fill(200);

async function metric(name: string, absent?: number): Promise<number> {
  return metricValue((await api.send('GET /metrics')).text, name, absent);
}

const underWay = () => metric('parley_under_way{place="gateway"}');
/** Counter of rejected requests; absent, so 0, before the first rejection. */
const shed = () => metric('parley_shed_total{place="gateway",reason="under way"}', 0);
const refusal = {
  status: 503,
  headers: expect.objectContaining({ 'retry-after': '1' }) as unknown,
  json: { code: 503, type: 'Internal', message: expect.stringContaining('was not processed') as string },
};

describe('A gateway with a higher limit than its service', () => {
  beforeAll(() => open(atGateway));
  afterAll(() => api?.stop());

  it('handles requests up to the limit, rejects the rest at once, and recovers', async () => {
    const refused: TestResponse[] = [];
    const answers = readMany(100).map(async (answer) => {
      if ((await answer).status === 503) refused.push(await answer);
      return answer;
    });

    await waitFor(() => refused.length === 100 - inService);
    release();

    expect((await statusesOf(answers)).filter((status) => status === 200)).toEqual(allWell);
    refused.forEach((answer) => expect(answer).toMatchObject(refusal));
    await waitFor(underWay, (count) => count === 0);
    expect(await statusesOf(readMany(inService))).toEqual(allWell);
  });

  it('rejects requests over the limit of a service, except those of the operator', async () => {
    const work = readMany(inService);
    await waitFor(underWay, (count) => count === inService);

    const [refused, operators] = await Promise.all([
      read(),
      api.send('GET /operator/files/stuck', { headers: { authorization: `Bearer ${api.operatorToken}` } }),
    ]);

    expect(refused).toMatchObject(refusal);
    expect(operators.status).toBe(200);
    release();
    expect(await statusesOf(work)).toEqual(allWell);
    expect((await read()).status).toBe(200);
  });

  it('leaves most of its slots to others while one tenant sends incomplete bodies', async () => {
    const silent = Array.from({ length: 3 * atGateway }, () => begin('PUT /v1/files'));
    const cut = await Promise.all(silent.slice(0, 2 * atGateway).map(({ status }) => status));

    expect(new Set(cut)).toEqual(new Set([503]));
    expect((await api.newAccount()).token).toMatch(/^bp_pat_/);
    silent.forEach(({ leave }) => leave());
    await waitFor(underWay, (count) => count === 0);
  });
});

describe('A gateway with a lower limit than its service', () => {
  beforeAll(() => open(fewAtGateway));
  afterAll(() => api?.stop());

  it('rejects requests at the gateway before the body is read, except probes and those of the operator', async () => {
    const work = readMany(fewAtGateway);
    await waitFor(underWay, (count) => count === fewAtGateway);

    const before = await shed();
    const oneMore = begin('PUT /v1/files');
    const refused = await oneMore.status;
    const probes = await Promise.all(['/healthz', '/readyz', '/metrics'].map((path) => api.send(`GET ${path}`)));
    const account = await api.newAccount();

    expect(refused).toBe(503);
    expect(probes.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(account.token).toMatch(/^bp_pat_/);
    expect(await shed()).toBe(before + 1);
    oneMore.leave();
    release();
    expect(await statusesOf(work)).toEqual(work.map(() => 200));
    expect((await read()).status).toBe(200);
  });
});

function begin(line: string): { status: Promise<number | undefined>; leave: () => void } {
  const [method, path] = line.split(' ') as [string, string];
  const { hostname, port } = new URL(api.url);
  const sent = { ...headers, 'content-type': 'application/json', 'content-length': '100' };
  const outgoing = request({ hostname, port, method, path, headers: sent, agent: false });
  const status = new Promise<number | undefined>((resolve) => {
    outgoing.on('response', (response) => resolve(response.resume().statusCode));
    outgoing.on('error', () => resolve(undefined));
  });
  outgoing.write('{');
  return { status, leave: () => outgoing.destroy() };
}
