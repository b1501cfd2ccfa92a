import { systemCaller } from '@parley/contracts/caller';
import { chatIntegration } from '@parley/contracts/hub/built-in';
import { hub } from '@parley/contracts/hub/hub';
import { installationsChanged } from '@parley/contracts/admin/installations';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { startServiceOn } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { satisfies } from 'semver';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubConfig } from '../config';
import { CountersRepository } from '../counters/counters.repository';
import { HubModule } from '../hub.module';
import { CountInstallationsHandler } from '../installations/count-installations.handler';

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
  await alice.client.updateWorkspace({ id: alice.workspaceId, handle: 'alices', name: 'Alice and friends' });
});

afterAll(() => api?.stop());

type Given = Omit<Parameters<Account['client']['createIntegration']>[0], 'name'>;
type Query = Parameters<Account['client']['listPublicIntegrations']>[0];
type OwnQuery = Parameters<Account['client']['listIntegrations']>[0];

let names = 0;
/** Unique word, so that a search for it finds only the integrations of this test. */
function newWord(): string {
  names += 1;
  return `q${String.fromCharCode(...[...String(names)].map((digit) => 97 + Number(digit)))}x`;
}

async function publish(name: string, given: Partial<Given> = {}) {
  const all = { version: '1.0.0', visibility: 'public' as const, ...given };
  return (await alice.client.createIntegration({ name, ...all })).integration;
}

async function find(query: Query) {
  return (await api.client(bob.token).listPublicIntegrations(query)).integrations;
}

async function pages(query: Query, between: () => Promise<void> = async () => {}) {
  const found: Awaited<ReturnType<typeof find>> = [];
  let nextToken: string | undefined;
  do {
    const page = await bob.client.listPublicIntegrations({ ...query, nextToken });
    found.push(...page.integrations);
    nextToken = page.meta.nextToken;
    await between();
  } while (nextToken);
  return found;
}

function repository() {
  return api.apps[2]!.get(CountersRepository, { strict: false });
}

async function viewsOf(id: string) {
  const [row] = await api.sql<{ views: string | null }>(
    'SELECT sum(views) AS views FROM hub.integration_counter WHERE integration_id = $1 AND valid_to > 1e18',
    [id],
  );
  return row!.views;
}

const schema = { type: 'object', properties: {} };
const action = { input: { schema }, output: { schema } };

describe('getting a public integration', () => {
  it('returns the built-in chat as a public integration', async () => {
    const { integration } = await bob.client.getPublicIntegration({ name: 'chat', version: '1.0.0' });

    const channel = integration.channels['channel']!;
    expect(integration).toMatchObject({
      id: chatIntegration.id,
      name: 'chat',
      version: '1.0.0',
      visibility: 'public',
      verificationStatus: 'approved',
      ownerWorkspace: { name: 'Parley', handle: null },
      configuration: { identifier: { required: false } },
    });
    expect(Object.keys(channel.messages).sort()).toEqual([
      ...['audio', 'bloc', 'card', 'carousel', 'choice', 'dropdown'],
      ...['file', 'image', 'location', 'markdown', 'text', 'video'],
    ]);
    expect(Object.keys(channel.conversation.tags)).toEqual(['owner', 'fid']);
    expect(Object.keys(channel.message.tags)).toEqual(['fid']);
    expect(Object.keys(integration.user.tags)).toEqual(['fid', 'profile']);
    expect(Object.keys(integration.events)).toEqual(['custom']);
    expect(Object.keys(integration.actions)).toEqual(['sendEvent', 'publishMessageStream']);
    expect((await bob.client.getPublicIntegration({ name: 'chat', version: 'latest' })).integration.id).toBe(
      integration.id,
    );
  });

  it.each(['0.7.4', '^0.7.0', '12.0.0'])(
    'returns the built-in chat for its version %s elsewhere, and says which it is',
    async (version) => {
      const { integration } = await bob.client.getPublicIntegration({ name: 'chat', version });

      expect(integration).toMatchObject({ id: chatIntegration.id, version: '1.0.0' });
      await expect(bob.client.getPublicIntegration({ name: 'chat', version: 'x.y' })).rejects.toMatchObject({
        code: 404,
      });
    },
  );

  it('returns owner and counters of a public integration, but neither its url nor its secrets', async () => {
    const { id } = await publish(newWord(), { url: 'http://localhost/tea', secrets: { A: 'x' }, title: 'Tea' });

    const { integration } = await api.client(bob.token).getPublicIntegrationById({ id });

    expect(integration).toMatchObject({
      id,
      title: 'Tea',
      url: '',
      secrets: [],
      signingSecret: '',
      ownerWorkspace: { id: alice.workspaceId, handle: 'alices', name: 'Alice and friends' },
      meta: { installs: 0, views: 0 },
    });
  });

  it('finds unlisted integrations by id and name, but neither private ones nor those under development', async () => {
    const name = newWord();
    const unlisted = await publish(name, { visibility: 'unlisted' });
    const hidden = [
      await publish(name, { visibility: 'private', version: '2.0.0' }),
      await publish(name, { dev: true, version: '3.0.0' }),
    ];

    expect((await bob.client.getPublicIntegrationById({ id: unlisted.id })).integration.id).toBe(unlisted.id);
    for (const version of ['1.0.0', 'latest', '<3.0.0'])
      expect((await bob.client.getPublicIntegration({ name, version })).integration.version).toBe('1.0.0');
    for (const { id, version } of hidden) {
      await expect(bob.client.getPublicIntegrationById({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
      await expect(bob.client.getPublicIntegration({ name, version })).rejects.toMatchObject({
        type: 'ResourceNotFound',
      });
    }
  });

  it('names the only public integration with a handle before the wanted name, and none of several or unlisted ones', async () => {
    const [one, two, unlisted] = [newWord(), newWord(), newWord()];
    await publish(`alices/${one}`);
    await publish(`alices/${one}`, { version: '2.0.0' });
    await publish(`alices/${unlisted}`, { visibility: 'unlisted' });
    await publish(`alices/${two}`);
    await bob.client.updateWorkspace({ id: bob.workspaceId, handle: 'bobs' });
    await bob.client.createIntegration({ name: `bobs/${two}`, version: '1.0.0', visibility: 'public' });
    const refusal = async (name: string) => {
      const error = await bob.client
        .getPublicIntegration({ name, version: 'latest' })
        .catch((reason: unknown) => reason);
      return (error as Error).message;
    };

    expect(await refusal(one)).toBe(
      `The integration "${one} latest" was not found. "alices/${one}" is public: use that name.`,
    );
    for (const name of [two, unlisted])
      expect(await refusal(name)).toBe(`The integration "${name} latest" was not found.`);
  });

  it('counts each view of a public integration once, in the background', async () => {
    const { id } = await publish(newWord());

    await Promise.all(Array.from({ length: 5 }, () => bob.client.getPublicIntegrationById({ id })));

    await waitFor(async () => (await viewsOf(id)) === '5');
  });

  it('counts the views of a process that stops', async () => {
    const { id } = await publish(newWord());
    const process = await startServiceOn(api.databaseUrl, (_url, platform) =>
      HubModule.register(Object.assign(new HubConfig(), api.settings), platform),
    );
    const caller = { ...systemCaller('test'), account: { id: alice.accountId, email: '' } };

    await process.call(hub.publicIntegrations.getById, caller, { id });
    await process.stop();

    expect(await viewsOf(id)).toBe('1');
  });
});

describe('the list of public integrations', () => {
  it('lists the highest release of each public integration, unless the query has a version or a name', async () => {
    const word = newWord();
    for (const version of ['1.0.0', '1.9.0', '1.10.0', '2.0.0-beta.1']) await publish(word, { version });
    await publish(word, { version: '3.0.0', visibility: 'private' });
    await publish(word, { version: '4.0.0', visibility: 'unlisted' });
    await publish(word, { version: '5.0.0', dev: true });
    const versions = async (query: Query) => (await find(query)).map(({ version }) => version).sort();

    expect(await versions({ search: word })).toEqual(['1.10.0']);
    expect(await versions({ search: word, version: 'latest' })).toEqual(['1.10.0']);
    expect(await versions({ search: word, version: '1.9.0' })).toEqual(['1.9.0']);
    expect(await versions({ search: word, version: '>=1.0.0 <1.10.0' })).toEqual(['1.0.0', '1.9.0']);
    expect(await versions({ name: word })).toEqual(['1.0.0', '1.10.0', '1.9.0', '2.0.0-beta.1']);
    expect(await versions({ name: word, version: 'latest' })).toEqual(['1.10.0']);
    expect(await versions({ name: word, version: '2.0.0-beta.1' })).toEqual(['2.0.0-beta.1']);
    await expect(find({ version: 'nonsense' })).rejects.toMatchObject({ type: 'InvalidQuery' });
  });

  it('reads ranges of versions as semver does', async () => {
    const name = newWord();
    const versions = [
      '0.1.0',
      '0.1.5',
      '1.0.0-alpha',
      '1.0.0-beta.2',
      '1.0.0',
      '1.2.3',
      '1.10.0-rc.1',
      '1.10.0',
      '2.0.0',
    ];
    for (const version of versions) await publish(name, { version });
    const ranges = [
      '*',
      '^1.0.0',
      '~1.2.0',
      '<1.10.0',
      '>=1.0.0-alpha <1.0.0',
      '^0.1.0 || >=2',
      '1.x',
      '=1.2.3',
      '>9',
      '',
    ];

    for (const version of ranges.filter(Boolean)) {
      const found = (await find({ name, version })).map((entry) => entry.version);

      expect([version, ...found.sort()]).toEqual([version, ...versions.filter((v) => satisfies(v, version)).sort()]);
    }
  });

  it('lists all versions of a name on one page, whatever the page size', async () => {
    const name = newWord();
    for (let patch = 0; patch < 25; patch += 1) await publish(name, { version: `1.0.${patch}` });

    const { integrations, meta } = await bob.client.listPublicIntegrations({ name, limit: 2 });

    expect(integrations).toHaveLength(25);
    expect(meta.nextToken).toBeUndefined();
  });

  it('lists public integrations after publications, withdrawals and deletions', async () => {
    const word = newWord();
    const old = await publish(word, { version: '1.0.0' });
    const young = await publish(word, { version: '2.0.0', visibility: 'private' });
    const shown = async () => (await find({ search: word })).map(({ version }) => version);

    expect(await shown()).toEqual(['1.0.0']);
    await alice.client.updateIntegration({ id: young.id, visibility: 'public' });
    expect(await shown()).toEqual(['2.0.0']);
    await alice.client.updateIntegration({ id: young.id, visibility: 'unlisted' });
    expect(await shown()).toEqual(['1.0.0']);
    await alice.client.deleteIntegration({ id: old.id });
    expect(await shown()).toEqual([]);
  });

  it('filters public integrations by verification and interface', async () => {
    const word = newWord();
    const { interface: spoken } = await alice.client.createInterface({
      name: `speaking-${word}`,
      version: '1.0.0',
      public: true,
      entities: {},
      events: {},
      actions: {},
      channels: {},
    });
    const plain = await publish(`${word}-plain`);
    const speaking = await publish(`${word}-speaking`, { interfaces: { s: { id: spoken.id } } });
    await alice.client.requestIntegrationVerification({ integrationId: plain.id });
    const ids = async (query: Query) => (await find({ search: word, ...query })).map(({ id }) => id);

    expect(await ids({ verificationStatus: 'pending' })).toEqual([plain.id]);
    expect(await ids({ verificationStatus: 'unapproved' })).toEqual([speaking.id]);
    expect(await ids({ interfaceId: spoken.id })).toEqual([speaking.id]);
    expect(await ids({ interfaceName: `speaking-${word}` })).toEqual([speaking.id]);
    expect(await ids({ interfaceName: 'speaking' })).toEqual([]);
  });

  it.each([
    [{ nextToken: 'x' }, /^nextToken is not valid for this list/],
    [{ nextToken: '1.99999999999999.x' }, /^nextToken is not valid for this list/],
    [{ nextToken: '1.1.x' }, /^nextToken is older than 24 hours/],
  ])('refuses the query %j of public integrations', async (query, message) => {
    await expect(find(query as Query)).rejects.toMatchObject({
      type: 'InvalidQuery',
      message: expect.stringMatching(message),
    });
  });
});

describe('a search', () => {
  it('searches words in every field, returns the matches, and sorts names first', async () => {
    const word = newWord();
    const capital = word[0]!.toUpperCase() + word.slice(1);
    await publish(`${word}-b`, { description: `Of ${word} and others`, title: 'B' });
    await publish(word, { title: 'C' });
    await publish(`a-${newWord()}`, { title: `All ${capital}` });
    await publish(`b-${newWord()}`, { title: 'D', actions: { [`send${capital}Now`]: action, other: action } });
    await publish(`c-${newWord()}`, { title: 'E', description: `Of ${capital}.` });
    await publish(`d-${newWord()}`, { title: 'F' });

    const found = await find({ search: word.toUpperCase() });

    expect(found.map(({ title }) => title)).toEqual(['C', 'B', `All ${capital}`, 'D', 'E']);
    expect(found.map(({ matchedOn }) => matchedOn)).toEqual([
      { name: true, title: false, description: false, actions: [], interfaces: [] },
      { name: true, title: false, description: true, actions: [], interfaces: [] },
      { name: false, title: true, description: false, actions: [], interfaces: [] },
      { name: false, title: false, description: false, actions: [`send${capital}Now`], interfaces: [] },
      { name: false, title: false, description: true, actions: [], interfaces: [] },
    ]);
  });

  it('searches parts of a name and all of several words, and takes special characters literally', async () => {
    const word = newWord();
    const { id } = await publish(`the_${word}sheets`, { description: 'For spreadsheets' });
    const ids = async (search: string) => (await find({ search })).map((entry) => entry.id);

    expect(await ids(`${word}shee`)).toEqual([id]);
    expect(await ids(`e_${word}`)).toEqual([id]);
    expect(await ids(`e%${word}`)).toEqual([]);
    expect((await find({ search: `E_${word}` }))[0]!.matchedOn).toMatchObject({ name: true });
    expect(await ids(`${word} spread`)).toEqual([id]);
    expect(await ids(`${word} nowhere`)).toEqual([]);
    for (const search of ['%', "'", '\\', '&|!', '()', ':*', '…']) expect(await ids(search)).not.toContain(id);
  });

  it('returns no matches without a search', async () => {
    const { name } = await publish(newWord());

    expect((await find({ name }))[0]).not.toHaveProperty('matchedOn');
  });
});

describe('an order', () => {
  it.each([
    ['name', 'asc', 'abc'],
    ['name', 'desc', 'cba'],
    ['name', undefined, 'abc'],
    ['createdAt', 'asc', 'cab'],
    ['createdAt', 'desc', 'bac'],
    [undefined, 'desc', 'bac'],
    ['updatedAt', 'asc', 'abc'],
    ['updatedAt', undefined, 'cba'],
    ['installCount', 'asc', 'abc'],
    ['installCount', 'desc', 'cba'],
    ['popularity', 'asc', 'bca'],
    ['popularity', undefined, 'acb'],
  ] as const)('orders public integrations by %s, %s, as %s', async (sortBy, direction, expected) => {
    const word = newWord();
    const ids: Record<string, string> = {};
    for (const letter of 'cab') ids[letter] = (await publish(`${letter}-${word}`, { description: 'x' })).id;
    for (const letter of 'abc') await alice.client.updateIntegration({ id: ids[letter]!, description: 'y' });
    await api.sql(
      `INSERT INTO hub.integration_counter (integration_id, installs, views, valid_from)
       VALUES ($1, 1, 900, 0), ($2, 2, 0, 0), ($3, 3, 100, 0)`,
      [ids['a'], ids['b'], ids['c']],
    );

    const all = await pages({ sortBy, direction, limit: 200 });

    const letters = all.filter(({ name }) => name.endsWith(`-${word}`)).map(({ name }) => name[0]);
    expect(letters.join('')).toBe(expected);
  });
});

describe('paging', () => {
  it.each(['createdAt', 'updatedAt', 'name', 'installCount', 'popularity', undefined] as const)(
    'pages public integrations by %s, each once, while counters change in between',
    async (sortBy) => {
      const word = newWord();
      const ids: string[] = [];
      for (let index = 0; index < 12; index += 1) ids.push((await publish(`${word}${newWord()}`)).id);
      await repository().addViews(new Map(ids.map((id, index) => [id, index])));
      let round = 0;
      const shuffle = async () => {
        round += 1;
        await repository().addViews(new Map(ids.map((id, index) => [id, ((index * 7 + round) % 12) * 100])));
      };

      const found = await pages({ search: word, sortBy, limit: 3 }, shuffle);

      expect(found.map(({ id }) => id).sort()).toEqual([...ids].sort());
      // All pages read the counters of the first page's snapshot.
      expect(found.map(({ meta }) => meta.views).sort((a, b) => a - b)).toEqual(ids.map((_, index) => index));
    },
  );

  it('keeps former counters as long as a token that reads them is valid, and an hour longer', async () => {
    const { id } = await publish(newWord());
    for (const views of [1, 2, 4]) await repository().addViews(new Map([[id, views]]));
    const counters = () =>
      api.sql('SELECT views FROM hub.integration_counter WHERE integration_id = $1 ORDER BY valid_from', [id]);
    const closeBefore = (views: number, time: string) =>
      api.sql(
        `UPDATE hub.integration_counter SET closed_at = now() - $3::interval WHERE integration_id = $1 AND views = $2`,
        [id, views, time],
      );
    await closeBefore(1, '25 h 1 min');
    await closeBefore(3, '24 h 59 min');

    await repository().deleteClosed();

    expect(await counters()).toEqual([{ views: '3' }, { views: '7' }]);
  });

  it('rejects the token of one list of public integrations in another list', async () => {
    await publish(newWord());
    const { meta } = await bob.client.listPublicIntegrations({ limit: 1 });

    await expect(bob.client.listPublicIntegrations({ limit: 1, sortBy: 'name', ...meta })).rejects.toMatchObject({
      type: 'InvalidQuery',
    });
  });
});

describe('installations', () => {
  const report = (botId: string, revision: number, ids: string[]) =>
    api.apps[2]!.get(CountInstallationsHandler, { strict: false }).report({
      botId,
      workspaceId: alice.workspaceId,
      revision,
      integrations: ids.map((id, index) => ({ alias: `a${index}`, id })),
      plugins: [{ alias: 'p', id: 'plugver_x' }],
    });
  const installs = async (id: string) => (await bob.client.getPublicIntegrationById({ id })).integration.meta.installs;

  it('counts installations per bot, however often and in whatever order events arrive', async () => {
    const [tea, milk] = [(await publish(newWord())).id, (await publish(newWord())).id];

    await report('bot-1', 1, [tea, tea]);
    await report('bot-1', 1, [tea, tea]);
    await report('bot-2', 5, [tea, milk]);
    await report('bot-2', 4, []);
    expect([await installs(tea), await installs(milk)]).toEqual([2, 1]);

    await report('bot-1', 2, [milk]);
    await report('bot-2', 6, []);
    await report('bot-2', 5, [tea, milk]);
    expect([await installs(tea), await installs(milk)]).toEqual([0, 1]);
  });

  it('counts installations by events of admin as the list of the bot shows them', async () => {
    const name = newWord();
    const { id } = await publish(name);
    await publish(name, { version: '2.0.0' });
    const { bot } = await alice.client.createBot({});
    await alice.client.updateBot({ id: bot.id, integrations: { [id]: { enabled: true } } });
    await waitFor(async () => (await installs(id)) === 1);

    const { integrations } = await alice.client.listPublicIntegrations({ installedByBotId: bot.id });
    const own = await alice.client.listIntegrations({ installedByBotId: bot.id });

    expect(integrations.map((entry) => entry.id).sort()).toEqual([chatIntegration.id, id].sort());
    expect(own.integrations.map((entry) => entry.id)).toEqual([id]);
    expect(installationsChanged.subject).toBe('admin.installationsChanged');
    for (const client of [bob.client, api.client(bob.token)]) {
      await expect(client.listPublicIntegrations({ installedByBotId: bot.id })).rejects.toMatchObject({
        type: 'Forbidden',
      });
    }
    await expect(bob.client.listIntegrations({ installedByBotId: bot.id })).rejects.toMatchObject({
      type: 'Forbidden',
    });
    await expect(alice.client.listPublicIntegrations({ installedByBotId: 'none' })).rejects.toMatchObject({
      type: 'Forbidden',
    });
  });

  it('asks admin for the role in the bot whose integrations are listed, for a gateway of 0.2.0', async () => {
    const { id: installedByBotId } = (await alice.client.createBot({})).bot;
    const listAs = ({ accountId, email, workspaceId }: Account) => {
      const account = { id: accountId, email };
      const caller = { ...systemCaller('test'), credential: 'pat', account, workspace: { id: workspaceId } } as const;
      return api.call(hub.integrations.list, caller, { installedByBotId });
    };

    expect(await listAs(alice)).toMatchObject({ integrations: [] });
    await expect(listAs(bob)).rejects.toMatchObject({ type: 'Forbidden' });
  });
});

describe('the list of a workspace', () => {
  it('lists all versions of a workspace, whatever their visibility, and none of other workspaces', async () => {
    const name = newWord();
    await publish(name, { version: '1.0.0', attributes: { color: 'green' } });
    await publish(name, { version: '1.1.0', visibility: 'private' });
    await publish(name, { version: '2.0.0-beta.1', visibility: 'unlisted' });
    await publish(name, { version: '3.0.0', dev: true });
    const versions = async (query: OwnQuery, client = alice.client) =>
      (await client.listIntegrations({ name, ...query })).integrations.map(({ version }) => version).sort();

    expect(await versions({})).toEqual(['1.0.0', '1.1.0', '2.0.0-beta.1']);
    expect(await versions({ visibility: 'public' })).toEqual(['1.0.0']);
    expect(await versions({ visibility: 'private' })).toEqual(['1.1.0']);
    expect(await versions({ version: 'latest' })).toEqual(['1.1.0']);
    expect(await versions({ version: '^1.0.0' })).toEqual(['1.0.0', '1.1.0']);
    expect(await versions({ dev: true })).toEqual(['3.0.0']);
    expect(await versions({}, bob.client)).toEqual([]);
    const { integrations } = await alice.client.listIntegrations({ name, version: '1.0.0' });
    expect(integrations[0]).toEqual({
      id: expect.stringMatching(/^intver_/),
      name,
      version: '1.0.0',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      title: name,
      description: '',
      iconUrl: '',
      public: true,
      visibility: 'public',
      verificationStatus: 'unapproved',
      lifecycleStatus: 'published',
      ownerWorkspace: { id: alice.workspaceId, handle: 'alices', name: 'Alice and friends' },
      attributes: { color: 'green' },
    });
  });

  it('pages and searches the integrations of a workspace', async () => {
    const word = newWord();
    for (const letter of 'abcde') await publish(`${letter}-${word}`, { visibility: 'private' });

    const first = await alice.client.listIntegrations({ search: word, sortBy: 'name', limit: 3 });
    const second = await alice.client.listIntegrations({ search: word, sortBy: 'name', limit: 3, ...first.meta });

    const all = [...first.integrations, ...second.integrations];
    expect(all.map(({ name }) => name[0]).join('')).toBe('abcde');
    expect(all[0]!.matchedOn).toMatchObject({ name: true });
    expect(second.meta.nextToken).toBeUndefined();
  });

  it.each([
    ['viewer', true],
    ['billing', false],
  ] as const)('decides whether a member may list the integrations of a workspace as %s: %s', async (role, allowed) => {
    const account = await api.newAccount();
    await api.addMember(alice.workspaceId, account.accountId, role);
    const list = api.client(account.token, alice.workspaceId).listIntegrations({});

    if (allowed) await expect(list).resolves.toBeDefined();
    else await expect(list).rejects.toMatchObject({ type: 'Forbidden' });
  });
});
