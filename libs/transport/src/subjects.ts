/** JetStream stream of events and of their replays to single consumers. */
export const eventStream = 'PARLEY';
/** JetStream stream of bodies above the size of one message. */
export const bodyStream = 'PARLEY_BODIES';

export function eventSubject(subject: string): string {
  return `events.${subject}`;
}

/** Subject of replayed dead letters, for this consumer only. */
export function repeatSubject(consumer: string): string {
  return `events.again.${durableName(consumer)}`;
}

export function broadcastSubject(subject: string): string {
  return `broadcast.${subject}`;
}

/** Throws TypeError for an invalid key. */
export function channelSubject(subject: string, key: string): string {
  return `channel.${subject}.${checkedKey(key)}`;
}

/** Pattern of the subjects of all keys, for permissions. */
export function channelSubjects(subject: string): string {
  return `channel.${subject}.*`;
}

export function instanceSubjects(subject: string): string {
  return `${subject}.*`;
}

/** Subject of an operation of the process that serves this key. Throws TypeError for an invalid key. */
export function instanceSubject(subject: string, key: string): string {
  return `${subject}.${checkedKey(key)}`;
}

/** A key with wildcards or dots would reach other subjects. */
function checkedKey(key: string): string {
  if (/^[\w-]+$/.test(key)) return key;
  throw new TypeError(`"${key}" is not a valid key: use letters, digits, "_" and "-".`);
}

/** Subject of bodies for an app, which only this app may read. */
export function bodySubject(app: string, name: string): string {
  return `bodies.${app}.${name}`;
}

/** API subject to read a body. */
export function bodyRequest(subject: string): string {
  return `$JS.API.DIRECT.GET.${bodyStream}.${subject}`;
}

/** API subject to pull the next event of a durable consumer. */
export function pullRequest(durable: string): string {
  return `$JS.API.CONSUMER.MSG.NEXT.${eventStream}.${durable}`;
}

/** API subject to look at a durable consumer. */
export function consumerInfo(durable: string): string {
  return `$JS.API.CONSUMER.INFO.${eventStream}.${durable}`;
}

/** Inbox prefix of an app: only this app may subscribe to it. */
export function inboxPrefix(app: string): string {
  return `_INBOX_${app}`;
}

/** App that owns an inbox: `anyone` for a client that is not an app, undefined for a subject that is no inbox. */
export function appOfInbox(reply: string): string | undefined {
  const inbox = /^_INBOX(?:_([a-z-]+))?\.[\w.]+$/.exec(reply);
  return inbox ? (inbox[1] ?? 'anyone') : undefined;
}

/** Durable names must not contain dots. */
export function durableName(consumer: string): string {
  return consumer.replaceAll('.', '-');
}

export function repeatsName(consumer: string): string {
  return `${durableName(consumer)}-again`;
}
