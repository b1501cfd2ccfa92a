import type { AppName } from './app';
import { apps } from './apps';

/** Apps that each app may ask: those below it. Everything upward is an event. */
const below: Record<AppName, AppName[]> = {
  gateway: ['runtime', 'chat', 'admin', 'hub', 'runner', 'tables', 'files'],
  runtime: ['chat', 'admin', 'hub', 'runner'],
  chat: ['admin', 'hub', 'runner', 'files'],
  admin: ['hub', 'runner'],
  hub: ['runner'],
  tables: ['files'],
  files: [],
  'files-worker': [],
  runner: [],
};

/** Requests upward that are left. Remove those that no app sends any longer; add none. */
const exceptions = [
  'admin requests chat.users.exists',
  'files requests admin.identity.roleInBot',
  'hub requests admin.identity.roleInBot',
  'hub requests admin.installations.count',
  'hub requests admin.runtimeKeys.issue',
  'hub requests admin.workspaces.label',
  'runner requests admin.botCode.getPart',
  'runner requests admin.botCode.getSecrets',
  'runner requests hub.integrationCode.getPart',
  'runner requests hub.integrationCode.getSecrets',
  'runner requests runtime.logs.write',
  // The sockets of a tunnel end in one process of the gateway.
  'runtime requests gateway.tunnel',
  'runtime requests gateway.tunnelHolder',
];

it('lets an app request only apps below it, except for these', () => {
  const upward = Object.entries(apps).flatMap(([name, { requests, requestsInstances = [] }]) =>
    [...requests, ...requestsInstances]
      .map(({ subject }) => subject)
      .filter((subject) => ![name, ...below[name as AppName]].includes(subject.split('.')[0]!))
      .map((subject) => `${name} requests ${subject}`),
  );

  expect(upward.sort()).toEqual(exceptions.sort());
});

it('orders apps without circles', () => {
  const ordered: string[] = [];
  const names = Object.keys(below) as AppName[];
  while (ordered.length < names.length) {
    const next = names.find((name) => !ordered.includes(name) && below[name].every((each) => ordered.includes(each)));
    expect(next).toBeDefined();
    ordered.push(next!);
  }
});
