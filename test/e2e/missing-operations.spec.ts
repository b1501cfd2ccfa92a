import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { allOperations } from '@parley/contracts/contracts';
import { type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../apps/admin/src/admin.module';
import { GatewayModule } from '../../apps/gateway/src/gateway.module';
import { anonymous, clientMethods } from '../support/client-methods';

let api: PublicApi;
let methods: Map<string, string>;
let missing: string[];

beforeAll(async () => {
  [api, methods] = await Promise.all([startPublicApi(GatewayModule, AdminModule), clientMethods()]);
  const answered = new Set(allOperations.flatMap(({ route }) => (route ? anonymous(route) : [])));
  missing = [...methods.keys()].filter((route) => !answered.has(route));
});

afterAll(() => api?.stop());

it('returns 404 "not available in this version" for each operation of the public client without a handler', async () => {
  const answers = await Promise.all(
    missing.map(async (route) => {
      const { status, json } = await api.send(route.replaceAll('{}', 'x'));
      return { method: methods.get(route), status, type: json.type, isUnknown: unknownPath.test(json.message) };
    }),
  );

  expect(missing.length).toBeGreaterThan(0);
  expect(answers).toEqual(
    missing.map((route) => ({ method: methods.get(route), status: 404, type: 'ResourceNotFound', isUnknown: true })),
  );
});

it('names each missing operation in docs/integrations.md, with the reason', async () => {
  const page = await readFile(join(__dirname, '../../docs/integrations.md'), 'utf8');

  const [, table = ''] = page.split('## Operations that are not served');
  const cells = [...table.matchAll(/^\| (.*?) \| *\S/gm)].map(([, cell]) => cell!);
  const names = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));

  expect(names.sort()).toEqual(missing.map((route) => methods.get(route)).sort());
});

const unknownPath = /^Cannot [A-Z]+ \S+: this path is not available in this version\. See \/docs\.$/;
