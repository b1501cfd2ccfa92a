import type { AppName } from './app';
import { apps } from './apps';

/** Apps that each app may ask: those below it. Everything upward is an event. */
const below: Record<AppName, AppName[]> = {
  gateway: ['runtime', 'chat', 'admin', 'hub', 'runner', 'tables', 'files', 'models'],
  runtime: ['chat', 'admin', 'hub', 'runner', 'models'],
  chat: ['admin', 'hub', 'runner', 'files'],
  admin: ['hub', 'runner'],
  hub: ['runner'],
  tables: ['files', 'models'],
  files: ['models'],
  'files-worker': ['models'],
  models: [],
  runner: [],
};

/** Requests upward that stay, each for a reason: docs/decisions/0098-order-of-services.md. Add none. */
const exceptions = [
  // A published line would be lost while the runtime is away. The request waits in the memory of the runner; no call waits for it.
  'runner requests runtime.logs.write',
  // The sockets of a tunnel end in one process of the gateway.
  'runtime requests gateway.tunnel',
  'runtime requests gateway.tunnelHolder',
];

/** Sent only beside processes of 0.2.0, until the release after next: docs/decisions/0098-order-of-services.md. */
const forOneRelease = [
  // A gateway of 0.2.0 sends `x-user-id` to admin.
  'admin requests chat.users.exists',
  // A hub of 0.2.0 counts installations when it deletes an entry.
  'hub requests admin.installations.count',
  // A gateway of 0.2.0 does not request these facts, and an admin of 0.2.0 does not answer them.
  'files requests admin.identity.roleInBot',
  'hub requests admin.identity.roleInBot',
  'hub requests admin.workspaces.label',
];

it('lets an app request only apps below it, except for these', () => {
  const upward = Object.entries(apps).flatMap(([name, { requests, formerRequests = [], requestsInstances = [] }]) =>
    [...requests, ...formerRequests, ...requestsInstances]
      .map(({ subject }) => subject)
      .filter((subject) => ![name, ...below[name as AppName]].includes(subject.split('.')[0]!))
      .map((subject) => `${name} requests ${subject}`),
  );

  expect(upward.sort()).toEqual([...exceptions, ...forOneRelease].sort());
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
