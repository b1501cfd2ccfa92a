import type { Field, Fields, Shapes } from './shapes';

/**
 * What would fail while processes of the former release and of this one run side by side. Both ask, both answer, and
 * news goes both ways.
 */
export function breakingChanges(former: Shapes, current: Shapes): string[] {
  const operations = Object.entries(former.operations).flatMap(([subject, then]) => {
    const now = current.operations[subject];
    if (!now) return [`${subject} is gone, and the former release asks it`];
    return [
      ...(now.route === then.route ? [] : [`${subject} had the route ${then.route}, which clients call`]),
      ...(now.status === then.status ? [] : [`${subject} answered with status ${then.status}`]),
      ...taken(then.input, now.input).map((change) => `${subject}, input: ${change}`),
      ...given(then.output, now.output).map((change) => `${subject}, output: ${change}`),
    ];
  });
  const news = Object.entries(former.news).flatMap(([subject, then]) => {
    const now = current.news[subject];
    if (!now) return [`${subject} is gone, and the former release tells it or hears it`];
    return [...new Set([...taken(then, now), ...given(then, now)])].map((change) => `${subject}: ${change}`);
  });
  const consumers = Object.entries(former.consumers).flatMap(([name, then]) => {
    const now = current.consumers[name];
    if (now === then) return [];
    if (now) return [`consumer ${name} had the event ${then}: give the one of ${now} another name`];
    return [
      `consumer ${name} is gone: under another name it gets 72 hours of events again, and what the server and KEDA know by ` +
        'the former one stays behind. Keep the name, or see docs/decisions/0039',
    ];
  });
  return [...operations, ...news, ...consumers];
}

/** What the former release sends is taken as it was. */
function taken(then: Fields, now: Fields): string[] {
  const demanded = Object.keys(now).filter((name) => now[name]!.required && !then[name]);
  return [
    ...demanded.filter((name) => !isBelowNew(name, then)).map((name) => `${name} is demanded, and was not known`),
    ...changes(then, now, (before, after) => [
      ...(after.required && !before.required ? ['is demanded, and was optional'] : []),
      ...(before.nullable && !after.nullable ? ['may not be null, and could be'] : []),
      ...(isNarrower(before, after) ? ['takes less than it did'] : []),
    ]),
  ];
}

/** What the former release reads is still there. */
function given(then: Fields, now: Fields): string[] {
  return changes(then, now, (before, after) => [
    ...(before.required && !after.required ? ['may be absent, and was not'] : []),
    ...(after.nullable && !before.nullable ? ['may be null, and could not'] : []),
  ]);
}

function changes(then: Fields, now: Fields, look: (before: Field, after: Field) => string[]): string[] {
  return Object.entries(then).flatMap(([name, before]) => {
    const after = now[name];
    if (!after) return [`${name} is gone`];
    if (after.type !== before.type) return [`${name} was of type ${before.type}`];
    return look(before, after).map((change) => `${name} ${change}`);
  });
}

/** What is demanded inside something new harms nobody who does not send that. */
function isBelowNew(name: string, then: Fields): boolean {
  const above = name.replace(/(\.[^.]+|\[\]|\{\})$/, '');
  return above !== name && !then[above];
}

function isNarrower(before: Field, after: Field): boolean {
  const lost = after.enum && !(before.enum ?? [undefined]).every((value) => after.enum!.includes(value));
  const raised = Object.entries(after.atLeast ?? {}).some(
    ([name, limit]) => limit > (before.atLeast?.[name] ?? -Infinity),
  );
  const lowered = Object.entries(after.atMost ?? {}).some(
    ([name, limit]) => limit < (before.atMost?.[name] ?? Infinity),
  );
  return Boolean(lost) || raised || lowered || (after.pattern !== undefined && after.pattern !== before.pattern);
}
