import type { FoundValues, ShownMessage } from './api-client';
import type { Promised, PromisedValues } from './ledger';

/** Missing, duplicate or wrong values, and values that were never requested. */
export function brokenPromises(what: string, promises: PromisedValues, found: FoundValues): string[] {
  const findings: string[] = [];
  for (const [name, promised] of promises) {
    const values = found.get(name) ?? [];
    const allowed = [promised.state, ...promised.possible];
    if (values.length > 1) findings.push(`${what} ${name} exists ${values.length} times${whenOf(promised)}`);
    else if (!allowed.includes(values[0])) {
      const [is, wanted] = [shown(values[0]), [...new Set(allowed)].map(shown).join(' or ')];
      findings.push(`${what} ${name} is ${is}, expected ${wanted}${whenOf(promised)}`);
    }
  }
  const strange = [...found.keys()].filter((name) => !promises.has(name));
  return [...findings, ...strange.map((name) => `${what} ${name} exists but was never requested`)];
}

/** Acknowledged messages in another order than written, or without increasing times. */
export function outOfOrder(conversationId: string, promises: PromisedValues, found: ShownMessage[]): string[] {
  const written = [...promises].filter(([, { state }]) => state !== undefined).map(([text]) => text);
  const place = new Map(written.map((text, position) => [text, position]));
  const acknowledged = found.filter(({ text }) => place.has(text));
  return [
    ...pairs(acknowledged)
      .filter(([before, after]) => place.get(before.text)! > place.get(after.text)!)
      .map(
        ([before, after]) =>
          `${conversationId} message ${after.text} comes after ${before.text}, which was written later`,
      ),
    ...pairs(found)
      .filter(([before, after]) => before.createdAt >= after.createdAt)
      .map(([before, after]) => `${conversationId} message ${after.text} is not newer than ${before.text} before it`),
  ];
}

/** Times of the acknowledgement and the rejection, to be compared with the log of faults. */
export function whenOf({ acknowledgedAt, refusedAt }: Promised<unknown>): string {
  const told = (what: string, time?: number) =>
    time === undefined ? '' : ` (${what} at ${new Date(time).toISOString()})`;
  return told('acknowledged', acknowledgedAt) + told('refused', refusedAt);
}

function pairs<T>(list: T[]): [T, T][] {
  return list.slice(1).map((after, place) => [list[place]!, after]);
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}
