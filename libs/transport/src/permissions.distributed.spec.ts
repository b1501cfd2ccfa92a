import { connect, headers, type NatsConnection, nkeyAuthenticator, nanos, nkeys } from 'nats';
import { admin } from '@parley/contracts/admin/admin';
import { type AppName, nothing } from '@parley/contracts/apps/app';
import { allConsumers, apps } from '@parley/contracts/apps/apps';
import { dropWorkspace } from '@parley/contracts/admin/workspaces';
import { files } from '@parley/contracts/files';
import { instanceOperation, operationsOf } from '@parley/contracts/operation';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { JetStreamEvents } from './jetstream-events';
import { ParleyClient } from './parley-client';
import { NatsLink } from './nats-connection';
import { NatsDriver } from './nats-driver';
import { permissionsOf, seedVariable, userOf } from './permissions';
import { inboxPrefix } from './subjects';
import { StreamUpkeep } from './stream-upkeep';
import { Anything, caller, outcomeOf, silent, startServer } from './test/probe';

const suite = hasNatsServer() ? describe : describe.skip;
const names = Object.keys(apps) as AppName[];

let server: NatsServer;
const former = nkeys.createUser();
const links: NatsLink[] = [];
const intruders: NatsConnection[] = [];

beforeAll(async () => {
  if (!hasNatsServer()) return;
  server = await NatsServer.startSecured(formerUser());
  for await (const _line of new StreamUpkeep(await linkOf('operator')).bringUpToDate(allConsumers, 1));
});

afterAll(async () => {
  await Promise.all([...links.map((link) => link.close()), ...intruders.map((intruder) => intruder.close())]);
  await server?.stop();
});

/** The app hub with the permissions of a version that could not delete its consumers. */
function formerUser(): string {
  const permissions = permissionsOf('hub', apps.hub);
  const publish = permissions.publish.filter((subject) => !subject.includes('CONSUMER.DELETE'));
  return userOf('hub of a former version', { ...permissions, publish }, former.getPublicKey());
}

async function linkOf(name: string, seed = server.access[seedVariable(name)]): Promise<NatsLink> {
  const { NATS_CA_FILE: caFile } = server.access;
  const link = await NatsLink.open(server.url, name, silent, { seed, caFile });
  links.push(link);
  return link;
}

/** Connection of an attacker with the stolen key of an app. */
async function intruderAs(name: string, seed = server.access[seedVariable(name)]) {
  const caFile = server.access['NATS_CA_FILE'];
  const connection = await connect({
    servers: server.url,
    inboxPrefix: inboxPrefix(name),
    ...(seed ? { authenticator: nkeyAuthenticator(Buffer.from(seed)) } : {}),
    ...(caFile ? { tls: { caFile } } : {}),
  });
  intruders.push(connection);
  const refusals: string[] = [];
  void (async () => {
    for await (const { permissionContext } of connection.status()) {
      if (permissionContext) refusals.push(`${permissionContext.operation} ${permissionContext.subject}`);
    }
  })();
  /** Resolves when the server has either reported a violation or accepted the request. */
  const isRefused = async (operation: string, subject: string) => {
    await connection.flush();
    await connection.flush();
    return refusals.includes(`${operation} ${subject}`);
  };
  return {
    connection,
    mayNotPublish: async (subject: string) => {
      connection.publish(subject, '{}', { reply: `${inboxPrefix(name)}.reply` });
      return isRefused('publish', subject);
    },
    mayNotSubscribe: async (subject: string, queue?: string) => {
      connection.subscribe(subject, { queue, callback: () => undefined });
      return isRefused('subscription', subject);
    },
  };
}

function transportOf(link: NatsLink): NatsDriver {
  return new NatsDriver(link, 64_000_000, 1, silent);
}

async function storedSubjects(): Promise<string[]> {
  const manager = await (await linkOf('operator')).connection.jetstreamManager();
  const { state } = await manager.streams.info('PARLEY', { subjects_filter: '>' });
  return Object.keys(state.subjects ?? {});
}

async function changesByUpkeep(): Promise<string[]> {
  const changes: string[] = [];
  for await (const line of new StreamUpkeep(await linkOf('operator')).bringUpToDate(allConsumers, 1)) {
    if (!line.endsWith(': up to date')) changes.push(line);
  }
  return changes;
}

/** A consumer of hub whose folder the server has lost, and the events as hub sees them. */
async function damagedConsumer(seed?: string) {
  await server.damageConsumer('PARLEY', 'hub-dropWorkspace');
  const events = new JetStreamEvents(await linkOf('hub', seed), 1, silent);
  const { name, event } = dropWorkspace;
  const deadLetter = async () => undefined;
  const consumer = { name, subject: event.subject, concurrency: 1, maxDeliveries: 1, handle: deadLetter, deadLetter };
  return { events, consumer };
}

const emptyAnswer = { head: 'ok', body: '{}' };

suite('A NATS server with the deployed permissions', () => {
  it.each(names)(
    'denies %s everything that belongs to another app',
    async (name) => {
      const intruder = await intruderAs(name);
      const own = permissionsOf(name, apps[name]);
      const others = names.filter((other) => other !== name);
      const published = [
        ...others.flatMap((other) => operationsOf(apps[other].serves).map(({ subject }) => subject)),
        ...others.flatMap((other) => permissionsOf(other, apps[other]).publish.filter((place) => !/[*>]/.test(place))),
        ...allConsumers.map((consumer) => `$JS.ACK.PARLEY.${consumer.name.replace('.', '-')}.1.1.1.1.0`),
        ...['DELETE', 'PURGE', 'UPDATE', 'MSG.DELETE'].map((verb) => `$JS.API.STREAM.${verb}.PARLEY`),
        ...allConsumers.map((consumer) => `$JS.API.CONSUMER.DELETE.PARLEY.${consumer.name.replace('.', '-')}`),
        '$JS.API.CONSUMER.CREATE.PARLEY',
        '$JS.API.CONSUMER.CREATE.PARLEY.own.events.admin.botDeleted',
        '$JS.API.CONSUMER.CREATE.PARLEY_BODIES',
        '$JS.API.STREAM.CREATE.OTHER',
        '$JS.API.STREAM.LIST',
        `$JS.API.DIRECT.GET.PARLEY_BODIES.bodies.${others[0]}.x.0`,
        '$SYS.REQ.SERVER.PING',
        `${inboxPrefix(others[0]!)}.x`,
      ].filter((place) => !own.publish.includes(place) && !place.startsWith(`$JS.ACK.PARLEY.${name}-`));
      const heard = [
        ...others.flatMap((other) => operationsOf(apps[other].serves).map(({ subject }) => subject)),
        ...others.map((other) => `${inboxPrefix(other)}.>`),
        ...['>', '*.>', 'events.>', 'bodies.>', '_INBOX.>', '$JS.>', '$SYS.>'],
      ];

      const taken: string[] = [];
      for (const place of new Set(published))
        if (!(await intruder.mayNotPublish(place))) taken.push(`publish ${place}`);
      for (const place of heard) if (!(await intruder.mayNotSubscribe(place))) taken.push(`subscribe ${place}`);
      for (const queue of others)
        if (!(await intruder.mayNotSubscribe(`${queue}.>`, queue))) taken.push(`serve ${queue}`);

      expect(taken).toEqual([]);
      expect(published.length).toBeGreaterThan(100);
    },
    60_000,
  );

  it('denies an app to subscribe to its operations outside of its queue group', async () => {
    const intruder = await intruderAs('files');

    await expect(intruder.mayNotSubscribe('files.upsert')).resolves.toBe(true);
    await expect(intruder.mayNotSubscribe('files.list', 'files')).resolves.toBe(false);
  });

  it.each([
    ['no key', ''],
    ['a key that it does not know', Buffer.from(nkeys.createUser().getSeed()).toString()],
  ])('rejects a connection with %s', async (_what, seed) => {
    await expect(intruderAs('gateway', seed)).rejects.toThrow(/Authorization Violation/);
  });

  it('passes bodies above the message limit by reference, as request and as answer', async () => {
    const [service, gateway] = [transportOf(await linkOf('files')), transportOf(await linkOf('gateway'))];
    service.serve(files.get.subject, 'files', async ({ body }) => ({ head: 'ok', body: body as string }));
    await service.ready();
    const body = JSON.stringify({ text: 'x'.repeat(9_000_000) });

    const answer = await gateway.request(files.get.subject, { head: '{}', body }, 30_000);

    expect(answer.body === body).toBe(true);
  });

  it('fails a request without permission at once', async () => {
    const bus = new ParleyClient(transportOf(await linkOf('files')));

    const { error } = await outcomeOf(bus.call(admin.accounts.create, caller, { email: 'a@example.com' }));

    expect(error).toMatchObject({ code: 503 });
  });

  it('makes an app unready whose subscription was denied', async () => {
    const driver = transportOf(await linkOf('files'));
    driver.serve('tables.stolen', 'files', async () => emptyAnswer);

    await expect(waitFor(() => driver.ready().then(() => false))).rejects.toThrow(/tables\.stolen/);
  });

  it('answers to inboxes only, whatever reply subject a request names', async () => {
    const service = transportOf(await linkOf('hub'));
    const { subject } = operationsOf(apps.hub.serves).find(({ route }) => route)!;
    let asked = 0;
    service.serve(subject, 'hub', async () => {
      asked += 1;
      return emptyAnswer;
    });
    await service.ready();
    const { connection } = await intruderAs('gateway');

    connection.publish(subject, '{}\n{}', { reply: 'events.hub.entryChanged' });
    await waitFor(() => asked === 1);
    await service.ready();

    await expect(storedSubjects()).resolves.not.toContain('events.hub.entryChanged');
  });

  it('accepts no stream message redirected by a pull, neither as an event nor as a request', async () => {
    const service = transportOf(await linkOf('admin'));
    const asked: unknown[] = [];
    const { subject } = admin.identity.roleInBot;
    service.serve(subject, 'admin', async (message) => {
      asked.push(message);
      return emptyAnswer;
    });
    await service.ready();
    const { connection } = await intruderAs('hub');
    const repeats = 'events.again.hub-dropWorkspace';
    const pull = (reply: string) =>
      connection.publish(
        '$JS.API.CONSUMER.MSG.NEXT.PARLEY.hub-dropWorkspace-again',
        JSON.stringify({ batch: 1, expires: nanos(1_000) }),
        { reply },
      );

    const before = await storedSubjects();
    for (const reply of ['events.admin.botDeleted', subject]) {
      await connection.jetstream().publish(repeats, '{}\n{"forged":true}');
      pull(reply);
    }
    await connection.flush();
    const answer = await transportOf(await linkOf('hub')).request(subject, { head: '{}', body: '{}' }, 5_000);

    expect(answer.body).toBe('{}');
    expect(asked).toEqual([{ head: '{}', body: '{}' }]);
    expect(await storedSubjects()).toEqual(expect.arrayContaining(before));
    expect(await storedSubjects()).not.toContain('events.admin.botDeleted');
  });

  it('rejects a message from a stream as a request', async () => {
    const service = transportOf(await linkOf('chat'));
    const { subject } = operationsOf(apps.chat.serves).find(({ route }) => route)!;
    service.serve(subject, 'chat', async () => emptyAnswer);
    await service.ready();
    const { connection } = await intruderAs('gateway');
    const read = headers();
    read.set('Nats-Stream', 'PARLEY_BODIES');

    const answer = await connection.request(subject, '{}\n{}', { headers: read, timeout: 5_000 });

    expect(answer.string()).toContain('InvalidPayload');
  });

  it('needs no changes of streams and consumers, even when several processes check at once', async () => {
    const upkeep = new StreamUpkeep(await linkOf('operator'));
    const run = async () => {
      const lines: string[] = [];
      for await (const line of upkeep.bringUpToDate(allConsumers, 1)) lines.push(line);
      return lines;
    };

    const [first, second] = await Promise.all([run(), run()]);

    expect(first).toHaveLength(2 + 2 * allConsumers.length);
    expect([...first, ...second].filter((line) => !line.endsWith(': up to date'))).toEqual([]);
    const { streams, consumers } = await upkeep.list();
    expect(streams.map(({ stream }) => stream)).toEqual(['PARLEY', 'PARLEY_BODIES']);
    expect(consumers).toHaveLength(2 * allConsumers.length);
  });

  it('lets an app replace a damaged consumer', async () => {
    const { events, consumer } = await damagedConsumer();

    await events.consume(consumer);

    expect(await changesByUpkeep()).toEqual([]);
    await events.drain();
  });

  it('names what to do to an app that may not delete its damaged consumer, and lets the operator replace it', async () => {
    const { events, consumer } = await damagedConsumer(Buffer.from(former.getSeed()).toString());

    await expect(events.consume(consumer)).rejects.toThrow(
      /^NATS cannot store its consumer "hub-dropWorkspace" \(.*meta\.inf.*\), .*run "npm run streams"/,
    );

    expect(await changesByUpkeep()).toEqual([
      expect.stringMatching(/^consumer hub-dropWorkspace: replaced, since it was damaged \(.*\)$/),
    ]);
    await events.consume(consumer);
    await events.drain();
  });

  it('updates a stream and a consumer with another configuration, and reports the changes', async () => {
    const manager = await (await linkOf('operator')).connection.jetstreamManager();
    const { config } = await manager.streams.info('PARLEY');
    await manager.streams.update('PARLEY', { ...config, max_age: nanos(3_600_000) });
    await manager.consumers.update('PARLEY', 'files-worker-index', { max_ack_pending: 5 });

    expect(await changesByUpkeep()).toEqual([
      expect.stringMatching(/^stream PARLEY: changed max_age from 3600000000000 to 259200000000000$/),
      expect.stringMatching(/^consumer files-worker-index: changed max_ack_pending from 5 to 1000$/),
    ]);
  });
});

suite('A NATS server with permissions for operations of one process', () => {
  const held = instanceOperation({ subject: 'holder.held', input: Anything, output: Anything });
  const users = {
    holder: { ...nothing, servesByInstance: [held] },
    requester: { ...nothing, requestsInstances: [held] },
    bystander: nothing,
  };

  it('lets the holder answer for its keys and the requester call them, and no other app', async () => {
    const pairs = Object.entries(users).map(([name, app]) => {
      const pair = nkeys.createUser();
      const user = userOf(name, permissionsOf(name, app), pair.getPublicKey());
      return { name, user, seed: Buffer.from(pair.getSeed()).toString() };
    });
    const own = await NatsServer.startSecured(pairs.map(({ user }) => user).join('\n'));
    const [holder, requester, bystander] = (await Promise.all(
      pairs.map(async ({ name, seed }) =>
        transportOf(await NatsLink.open(own.url, name, silent, { seed, caFile: own.access['NATS_CA_FILE'] })),
      ),
    )) as [NatsDriver, NatsDriver, NatsDriver];
    const serve = async (driver: NatsDriver) =>
      (await startServer({ contract: {}, driver }, [])).server.serveInstance(held, 'key-1', async () => ({
        done: true,
      }));
    const call = (driver: NatsDriver, key: string) =>
      outcomeOf(new ParleyClient(driver).callInstance(held, key, caller, {}));

    await (
      await serve(holder)
    ).live;
    expect(await call(requester, 'key-1')).toEqual({ value: { done: true } });
    expect(await call(requester, 'key-2')).toMatchObject({ error: { code: 503 } });
    expect(await call(bystander, 'key-1')).toMatchObject({ error: { code: 503 } });
    await serve(bystander);
    await waitFor(async () => (await outcomeOf(bystander.ready())).error !== undefined);

    await Promise.all([holder, requester, bystander].map((driver) => driver.close()));
    await own.stop();
  });
});
