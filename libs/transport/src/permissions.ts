import type { App, AppName } from '@parley/contracts/apps/app';
import { apps } from '@parley/contracts/apps/apps';
import { type Broadcast, type Channel, operationsOf } from '@parley/contracts/operation';
import {
  bodySubject,
  bodyRequest,
  bodyStream,
  broadcastSubject,
  channelSubjects,
  consumerInfo,
  durableName,
  eventSubject,
  eventStream,
  inboxPrefix,
  instanceSubjects,
  pullRequest,
  repeatSubject,
} from './subjects';
import { type Durable, durablesOf } from './streams';

export interface Permissions {
  publish: string[];
  /** `<subject> <queue>`: only as a member of the queue group. */
  subscribe: string[];
  /** Permits one answer per request to its reply subject, within this time. */
  answersWithin?: string;
}

/** Longer than the longest deadline of an operation. */
const answersWithin = '5m';

const names = Object.keys(apps) as AppName[];
/** User that creates streams and consumers. Not an app: it may not subscribe to their messages. */
export const operatorName = 'operator';

/** Least privilege: the permissions that an app needs. */
export function permissionsOf(name: string, app: App): Permissions {
  const { formerRequests = [], servesByInstance = [], requestsInstances = [] } = app;
  const isAnswering = operationsOf(app.serves).length > 0 || servesByInstance.length > 0;
  return {
    publish: [
      ...[...app.requests, ...formerRequests].map(({ subject }) => subject),
      ...requestsInstances.map(({ subject }) => instanceSubjects(subject)),
      ...app.broadcasts.map(subjectsOf),
      ...eventsOf(app),
      ...app.consumes.flatMap(({ name: consumer, event }) =>
        Object.values(durablesOf(consumer, event.subject)).flatMap(consumption),
      ),
      ...(app.watches ?? []).map((consumer) => consumerInfo(durableName(consumer.name))),
      ...bodiesOf(name, app),
    ].sort(),
    subscribe: [
      `${inboxPrefix(name)}.>`,
      ...(operationsOf(app.serves).length > 0 ? [`${name}.> ${name}`] : []),
      ...servesByInstance.map(({ subject }) => instanceSubjects(subject)),
      ...app.listens.map(subjectsOf),
    ].sort(),
    ...(isAnswering ? { answersWithin } : {}),
  };
}

export const operatorPermissions: Permissions = {
  publish: ['$JS.API.>'],
  subscribe: [`${inboxPrefix(operatorName)}.>`],
};

/** Users of the account `PARLEY`, in the format that the server's configuration includes. */
export function usersOfServer(): string {
  const users = [
    ...names.map((name) => userOf(name, permissionsOf(name, apps[name]))),
    userOf(operatorName, operatorPermissions),
  ];
  return `# Generated from the contracts: UPDATE_NATS=1 npm test -- libs/transport/src/permissions
users: [
${users.join('\n')}
  # Own services: npm run parley -- nats keys --service <name>
]
`;
}

/** Environment variable with the public key of a user, for the server's configuration. */
export function publicKeyVariable(user: string): string {
  return `NATS_KEY_${user.toUpperCase().replaceAll('-', '_')}`;
}

/** Environment variable with the seed of a user, where one process starts all apps. */
export function seedVariable(user: string): string {
  return `NATS_SEED_${user.toUpperCase().replaceAll('-', '_')}`;
}

export const userNames: string[] = [...names, operatorName, 'sys'];

/** Event stream: look for it, and with an outbox publish and republish events, and check the stream for losses. */
function eventsOf({ publishes, formerPublishes = [], consumes, republishes = consumes }: App): string[] {
  const hasOutbox = publishes.length + republishes.length > 0;
  // An app may create a lost stream, but never change or delete it.
  const verbs = hasOutbox ? ['INFO', 'CREATE', 'MSG.GET'] : consumes.length > 0 ? ['INFO'] : [];
  return [
    ...[...publishes, ...formerPublishes].map(({ subject }) => eventSubject(subject)),
    ...republishes.map((consumer) => repeatSubject(consumer.name)),
    ...verbs.map((verb) => `$JS.API.STREAM.${verb}.${eventStream}`),
  ];
}

function consumption({ name, subject }: Durable): string[] {
  return [
    `$JS.API.CONSUMER.CREATE.${eventStream}.${name}.${subject}`,
    // To replace a damaged one. It takes nothing from an app that may acknowledge all events of this consumer.
    `$JS.API.CONSUMER.DELETE.${eventStream}.${name}`,
    pullRequest(name),
    `$JS.ACK.${eventStream}.${name}.>`,
  ];
}

/** Large bodies: write those for its partners, read its own. */
function bodiesOf(name: string, app: App): string[] {
  const partners = names.filter(
    (other) => other !== name && (callsOperationsOf(app, other) || callsOperationsOf(apps[other], name)),
  );
  return [
    ...partners.map((partner) => bodySubject(partner, '*.*')),
    bodyRequest(bodySubject(name, '*.*')),
    // Not for a service of the platform team: who creates the stream chooses which messages it copies.
    ...(name in apps ? [`$JS.API.STREAM.CREATE.${bodyStream}`] : []),
  ];
}

function callsOperationsOf({ requests, formerRequests = [], requestsInstances = [] }: App, other: string): boolean {
  return [...requests, ...formerRequests, ...requestsInstances].some(({ subject }) => subject.startsWith(`${other}.`));
}

function subjectsOf({ kind, subject }: Broadcast | Channel): string {
  return kind === 'broadcast' ? broadcastSubject(subject) : channelSubjects(subject);
}

/** User in the format of the server's configuration. */
export function userOf(
  name: string,
  { publish, subscribe, answersWithin: expires }: Permissions,
  key = `$${publicKeyVariable(name)}`,
): string {
  const allow = (subjects: string[]) =>
    `{ allow: [\n${subjects.map((each) => `        "${each}"`).join('\n')}\n      ] }`;
  const responses = expires ? `\n      allow_responses: { max: 1, expires: "${expires}" }` : '';
  return `  { # ${name}
    nkey: ${key}
    permissions: {
      publish: ${allow(publish)}
      subscribe: ${allow(subscribe)}${responses}
    }
  }`;
}
