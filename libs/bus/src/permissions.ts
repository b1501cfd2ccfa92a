import { type App, type AppName, apps } from '@parley/contracts/apps';
import { type Broadcast, type Channel, operationsOf } from '@parley/contracts/operation';
import {
  bodyPlace,
  bodyRequest,
  bodyStream,
  broadcastPlace,
  channelPlace,
  eventPlace,
  eventStream,
  inboxPrefix,
  pullRequest,
  repeatPlace,
} from './places';
import { type Durable, durablesOf } from './streams';

/** What one user of the NATS server may do. */
export interface Permissions {
  publish: string[];
  /** With a queue behind a space, only as a member of it. */
  subscribe: string[];
  /** May answer a request where it asks to be answered: once, and for this long. */
  answersWithin?: string;
}

/** Longer than the longest deadline of an operation. */
const answersWithin = '2m';

const names = Object.keys(apps) as AppName[];
/** Whoever makes streams and consumers. It is none of the apps and hears nothing that they say. */
export const operatorName = 'operator';

/** The least that an app needs. */
export function permissionsOf(name: AppName): Permissions {
  const app = apps[name];
  const isAnswering = operationsOf(app.answers).length > 0;
  return {
    publish: [
      ...app.asks.map(({ subject }) => subject),
      ...app.tells.map(placeOf),
      ...eventsOf(app),
      ...app.consumes.flatMap(({ name: consumer, event }) =>
        Object.values(durablesOf(consumer, event.subject)).flatMap(consumption),
      ),
      ...bodiesOf(name),
    ].sort(),
    subscribe: [
      `${inboxPrefix(name)}.>`,
      ...(isAnswering ? [`${name}.> ${name}`] : []),
      ...app.hears.map(placeOf),
    ].sort(),
    ...(isAnswering ? { answersWithin } : {}),
  };
}

export const operatorPermissions: Permissions = {
  publish: ['$JS.API.>'],
  subscribe: [`${inboxPrefix(operatorName)}.>`],
};

/** The users of the account `PARLEY`, as the server's configuration includes them. */
export function usersOfServer(): string {
  const users = [...names.map((name) => userOf(name, permissionsOf(name))), userOf(operatorName, operatorPermissions)];
  return `# Made from the contracts: UPDATE_NATS=1 npm test -- libs/bus/src/permissions
users: [
${users.join('\n')}
]
`;
}

/** The variable that holds the public key of a user, from which the server's configuration takes it. */
export function publicKeyVariable(user: string): string {
  return `NATS_KEY_${user.toUpperCase().replaceAll('-', '_')}`;
}

/** The variable under which its seed is kept by whoever starts all apps. */
export function seedVariable(user: string): string {
  return `NATS_SEED_${user.toUpperCase().replaceAll('-', '_')}`;
}

/** Everyone who has a key. */
export const userNames: string[] = [...names, operatorName, 'sys'];

/** The outbox of an app: its events, what it hands to a consumer again, and a look at what the stream has kept. */
function eventsOf({ announces, consumes, repeats = consumes }: App): string[] {
  if (announces.length + repeats.length === 0) return [];
  return [
    ...announces.map(({ subject }) => eventPlace(subject)),
    ...repeats.map((consumer) => repeatPlace(consumer.name)),
    // A stream that was lost is made anew, and never changed or deleted.
    ...['INFO', 'CREATE', 'MSG.GET'].map((verb) => `$JS.API.STREAM.${verb}.${eventStream}`),
  ];
}

function consumption({ name, place }: Durable): string[] {
  return [
    `$JS.API.CONSUMER.CREATE.${eventStream}.${name}.${place}`,
    pullRequest(name),
    `$JS.ACK.${eventStream}.${name}.>`,
  ];
}

/** Large bodies: written for those who ask it and whom it asks, read where its own lie. */
function bodiesOf(name: AppName): string[] {
  const partners = names.filter((other) => asks(name, other) || asks(other, name));
  return [
    ...partners.map((partner) => bodyPlace(partner, '*.*')),
    bodyRequest(bodyPlace(name, '*.*')),
    `$JS.API.STREAM.CREATE.${bodyStream}`,
  ];
}

function asks(name: AppName, other: AppName): boolean {
  return apps[name].asks.some(({ subject }) => subject.startsWith(`${other}.`));
}

function placeOf({ kind, subject }: Broadcast | Channel): string {
  return kind === 'broadcast' ? broadcastPlace(subject) : channelPlace(subject, '*');
}

function userOf(name: string, { publish, subscribe, answersWithin: expires }: Permissions): string {
  const allow = (subjects: string[]) =>
    `{ allow: [\n${subjects.map((each) => `        "${each}"`).join('\n')}\n      ] }`;
  const responses = expires ? `\n      allow_responses: { max: 1, expires: "${expires}" }` : '';
  return `  { # ${name}
    nkey: $${publicKeyVariable(name)}
    permissions: {
      publish: ${allow(publish)}
      subscribe: ${allow(subscribe)}${responses}
    }
  }`;
}
