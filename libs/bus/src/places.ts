/** The stream of events and, of those, what is told to one consumer once more. */
export const eventStream = 'PARLEY';
/** The stream of bodies that no message carries. */
export const bodyStream = 'PARLEY_BODIES';

export function eventPlace(subject: string): string {
  return `events.${subject}`;
}

/** Events that this consumer had given up, for it alone. */
export function repeatPlace(consumer: string): string {
  return `events.again.${durableName(consumer)}`;
}

export function broadcastPlace(subject: string): string {
  return `broadcast.${subject}`;
}

export function channelPlace(subject: string, key: string): string {
  return `channel.${subject}.${key}`;
}

/** Where bodies for an app lie, which it alone may read. */
export function bodyPlace(app: string, name: string): string {
  return `bodies.${app}.${name}`;
}

/** Where the server is asked for what lies there. */
export function bodyRequest(place: string): string {
  return `$JS.API.DIRECT.GET.${bodyStream}.${place}`;
}

/** Where the server is asked for the next event of a durable. */
export function pullRequest(durable: string): string {
  return `$JS.API.CONSUMER.MSG.NEXT.${eventStream}.${durable}`;
}

/** Where an app gets its answers. Nobody else may listen there. */
export function inboxPrefix(app: string): string {
  return `_INBOX_${app}`;
}

/** Whose inbox it is: `anyone` for one of a client that is none of our apps, undefined for what is no inbox at all. */
export function appOfInbox(reply: string): string | undefined {
  const inbox = /^_INBOX(?:_([a-z-]+))?\.[\w.]+$/.exec(reply);
  return inbox ? (inbox[1] ?? 'anyone') : undefined;
}

/** A durable name may hold no dot. */
export function durableName(consumer: string): string {
  return consumer.replaceAll('.', '-');
}

/** The durable name under which a consumer gets its repeats. */
export function repeatsName(consumer: string): string {
  return `${durableName(consumer)}-again`;
}
