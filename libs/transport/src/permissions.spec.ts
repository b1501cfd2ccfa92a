import { readFileSync, writeFileSync } from 'node:fs';
import { type AppName, nothing } from '@parley/contracts/apps/app';
import { apps } from '@parley/contracts/apps/apps';
import { instanceOperation, operationsOf } from '@parley/contracts/operation';
import { newKeys } from './nats-keys';
import { permissionsOf, userNames, usersOfServer } from './permissions';

const file = 'deploy/nats/users.conf';
const names = Object.keys(apps) as AppName[];

it('matches the server configuration to the contracts (UPDATE_NATS=1 npm test -- libs/transport/src/permissions writes it)', () => {
  const right = usersOfServer();

  if (process.env['UPDATE_NATS'] === '1') writeFileSync(file, right);
  else expect(readFileSync(file, 'utf8')).toBe(right);
});

it('lets an app publish by wildcard only below its own subjects, and to keys of operations of one process', () => {
  const wild = names.flatMap((name) => {
    const keys = (apps[name].requestsInstances ?? []).map(({ subject }) => `${subject}.*`);
    return permissionsOf(name, apps[name]).publish.filter((place) => /[*>]/.test(place) && !keys.includes(place));
  });

  expect(
    wild.filter((place) => !/^(channel\.|bodies\.|\$JS\.ACK\.PARLEY\.[\w-]+\.|\$JS\.API\.DIRECT\.)/.test(place)),
  ).toEqual([]);
});

it('lets no app write to the subjects of its own bodies, which the server could send anywhere', () => {
  for (const name of names) expect(permissionsOf(name, apps[name]).publish).not.toContain(`bodies.${name}.*.*`);
});

it('permits answers for longer than any operation may take', () => {
  const longest = Math.max(
    ...names.flatMap((name) => {
      const { serves, servesByInstance = [] } = apps[name];
      return [...operationsOf(serves), ...servesByInstance].map(({ timeoutMs }) => timeoutMs);
    }),
  );

  expect(permissionsOf('files', apps.files).answersWithin).toBe('5m');
  expect(longest).toBeLessThan(5 * 60_000);
});

it('creates a separate key for each user', () => {
  const keys = newKeys().match(/^NATS_(KEY|SEED)_\w+=\w+$/gm)!;

  expect(keys).toHaveLength(2 * userNames.length);
  expect(new Set(keys.map((line) => line.split('=')[1])).size).toBe(keys.length);
});

it('lets an app that holds keys answer for any key outside of a queue group, and a requester publish to any', () => {
  const held = instanceOperation({ subject: 'holder.held', input: Object, output: Object });

  const holder = permissionsOf('holder', { ...nothing, servesByInstance: [held] });
  const requester = permissionsOf('requester', { ...nothing, requestsInstances: [held] });

  expect(holder.subscribe).toEqual(['_INBOX_holder.>', 'holder.held.*']);
  expect(holder.answersWithin).toBe('5m');
  expect(requester.publish).toContain('holder.held.*');
  expect(requester.subscribe).toEqual(['_INBOX_requester.>']);
});
