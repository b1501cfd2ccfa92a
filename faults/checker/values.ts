import type { FoundValues, ShownMessage } from './asker';
import type { Promised, PromisedValues } from './ledger';

/** What was promised and is not there, is there twice or with another value, and what nobody has asked for. */
export function brokenPromises(what: string, promises: PromisedValues, found: FoundValues): string[] {
  const findings: string[] = [];
  for (const [name, promised] of promises) {
    const values = found.get(name) ?? [];
    const allowed = [promised.state, ...promised.possible];
    if (values.length > 1) findings.push(`${what} ${name} is there ${values.length} times${whenOf(promised)}`);
    else if (!allowed.includes(values[0])) {
      const [is, wanted] = [shown(values[0]), [...new Set(allowed)].map(shown).join(' or ')];
      findings.push(`${what} ${name} is ${is}, and was promised to be ${wanted}${whenOf(promised)}`);
    }
  }
  const strange = [...found.keys()].filter((name) => !promises.has(name));
  return [...findings, ...strange.map((name) => `${what} ${name} is there, and nobody has asked for it`)];
}

/** Acknowledged messages that stand in another order than they were written in, or whose times do not grow. */
export function outOfOrder(conversationId: string, promises: PromisedValues, found: ShownMessage[]): string[] {
  const written = [...promises].filter(([, { state }]) => state !== undefined).map(([text]) => text);
  const place = new Map(written.map((text, position) => [text, position]));
  const acknowledged = found.filter(({ text }) => place.has(text));
  return [
    ...pairs(acknowledged)
      .filter(([before, after]) => place.get(before.text)! > place.get(after.text)!)
      .map(
        ([before, after]) =>
          `${conversationId} message ${after.text} stands after ${before.text}, which was written later`,
      ),
    ...pairs(found)
      .filter(([before, after]) => before.createdAt >= after.createdAt)
      .map(([before, after]) => `${conversationId} message ${after.text} is no younger than ${before.text} before it`),
  ];
}

/** When it was acknowledged and refused, to be found among what happened by then. */
export function whenOf({ acknowledgedAt, refusedAt }: Promised<unknown>): string {
  const told = (what: string, time?: number) =>
    time === undefined ? '' : ` (${what} at ${new Date(time).toISOString()})`;
  return told('acknowledged', acknowledgedAt) + told('refused', refusedAt);
}

function pairs<T>(list: T[]): [T, T][] {
  return list.slice(1).map((after, place) => [list[place]!, after]);
}

function shown(value: unknown): string {
  return value === undefined ? 'not there' : JSON.stringify(value);
}
