import { nkeys } from 'nats';
import { type App, nothing } from '@parley/contracts/apps/app';
import { apps } from '@parley/contracts/apps/apps';
import { permissionsOf, publicKeyVariable, seedVariable, userNames, userOf } from './permissions';

/** Typed here: the package exports this function without its types. */
const { createUser } = nkeys as { createUser: () => { getPublicKey(): string; getSeed(): Uint8Array } };

/** Creates NATS keys for all users of the server, as lines of an environment file. */
export function newKeys(): string {
  const pairs = userNames.map((name) => ({ name, pair: createUser() }));
  return [
    '# Public keys: for the NATS server, whose configuration in deploy/nats reads these variables.',
    ...pairs.map(({ name, pair }) => `${publicKeyVariable(name)}=${pair.getPublicKey()}`),
    '',
    '# Secret seeds: give each app only its own, as NATS_NKEY_SEED. `operator` is for `npm run streams`',
    '# and `parley streams`, `sys` for the system account of the server.',
    ...pairs.map(({ name, pair }) => `${seedVariable(name)}=${Buffer.from(pair.getSeed()).toString()}`),
  ].join('\n');
}

/** Use of the bus by a service that is not part of Parley. */
interface ExternalService {
  name: string;
  /** Subjects of the operations that it calls. */
  asks: string[];
  /** `<consumer>=<event>`: the name of a handler of the service, and the subject of the event that it consumes. */
  consumes: string[];
}

/** Creates the NATS key of a service, and its user for the server's configuration. Throws RangeError. */
export function newServiceKey(service: ExternalService): string {
  const pair = createUser();
  return [
    `# Secret seed: set it as NATS_NKEY_SEED of the processes of ${service.name}.`,
    `NATS_NKEY_SEED=${Buffer.from(pair.getSeed()).toString()}`,
    '',
    "# User: add it to the list `users` in the server's copy of deploy/nats/users.conf, then reload the server.",
    userOf(service.name, permissionsOf(service.name, appOf(service)), pair.getPublicKey()),
  ].join('\n');
}

function appOf({ name, asks, consumes }: ExternalService): App {
  if (!/^[a-z][a-z-]*$/.test(name)) throw new RangeError(`--service "${name}": use lower case letters and "-".`);
  if (userNames.includes(name)) throw new RangeError(`--service "${name}" is an app of Parley. Choose another name.`);
  const known = Object.values(apps);
  const operations = known.flatMap((app) => app.requests);
  const events = known.flatMap(({ publishes }) => publishes);
  return {
    ...nothing,
    requests: asks.map((subject) => bySubject(operations, subject, '--asks')),
    consumes: consumes.map((text) => {
      const [, consumer, subject] = /^(\w+)=(.+)$/.exec(text) ?? [];
      if (!consumer) throw new RangeError(`--consumes "${text}": use <consumer>=<event>, as in index=files.uploaded.`);
      const event = bySubject(events, subject!, '--consumes');
      return { kind: 'consumer', name: `${name}.${consumer}`, event, concurrency: 1, maxDeliveries: 1 };
    }),
    republishes: [],
  };
}

function bySubject<T extends { subject: string }>(known: T[], subject: string, option: string): T {
  const found = known.find((each) => each.subject === subject);
  if (found) return found;
  const alike = [...new Set(known.map((each) => each.subject))].filter(
    (each) => each.split('.')[0] === subject.split('.')[0],
  );
  throw new RangeError(
    `${option} "${subject}" not found.${alike.length > 0 ? ` Known: ${alike.sort().join(', ')}.` : ''}`,
  );
}
