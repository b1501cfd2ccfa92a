import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from './app';
import { allConsumers, apps } from './apps';
import { type Operation, operationsOf } from '../operation';

type Named = { kind: string; subject?: string; name?: string };

/** Calls of the client in the sources of an app, and the list of `App` that must name them. */
const uses: [keyof App, RegExp][] = [
  ['requests', /\b(?:client\s*\.\s*(?:call|request)\(|callWatched\(\s*this\.client,)\s*([\w.]+)/g],
  ['requestsInstances', /\bclient\s*\.\s*callInstance\(\s*([\w.]+)/g],
  ['servesByInstance', /\bserver\s*\.\s*serveInstance\(\s*([\w.]+)/g],
  ['publishes', /(?:\boutbox\s*\.\s*add(?:All)?\(\s*\w+,\s*|\binsertEventsOf\(\s*)([\w.]+)/g],
  ['consumes', /@Consumes\(([\w.]+)\)/g],
  ['broadcasts', /(?:\bclient\s*\.\s*(?:broadcast|publishTo)\(\s*|\bworkAdded:\s*)([\w.]+)/g],
  ['listens', /(?:\bclient\s*\.\s*(?:listen|subscribe)\(\s*|\bworkAdded:\s*)([\w.]+)/g],
];

/** Bus permission of the gateway, which forwards every operation that has a route. */
const forwarded = { app: 'gateway', expression: 'operation' };
/** Two apps share one outbox; either of them publishes its rows. */
const outboxOf: Record<string, string[]> = {
  files: ['files', 'files-worker'],
  'files-worker': ['files', 'files-worker'],
};

function sourcesOf(app: string): { path: string; text: string }[] {
  const folder = `apps/${app}/src`;
  const own = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.spec.ts') && !/(^|\/)test\//.test(path))
    .map((path) => join(folder, path))
    .map(sourceOf);
  const clients = own.flatMap(({ text }) => [...text.matchAll(/'@parley\/service\/([\w-]+\.client)'/g)]);
  return [
    ...own,
    ...[...new Set(clients.map(([, name]) => name!))].map((name) => sourceOf(`libs/service/src/${name}.ts`)),
  ];
}

function sourceOf(path: string): { path: string; text: string } {
  return { path, text: readFileSync(path, 'utf8') };
}

/** Contract that an expression such as `admin.identity.identify` refers to in this file. */
function contractOf(expression: string, { path, text }: { path: string; text: string }): Named {
  const [first, ...rest] = expression.split('.');
  const imported = new RegExp(`import \\{[^}]*\\b${first}\\b[^}]*\\} from '@parley/contracts/([^']+)'`).exec(text);
  if (!imported) throw new Error(`${path}: ${expression} must be imported from the contracts to be known beforehand.`);
  // oxlint-disable-next-line typescript/no-require-imports
  const contracts = require(`../${imported[1]}`) as Record<string, unknown>;
  return [first!, ...rest].reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], contracts) as Named;
}

function usedBy(app: string, list: keyof App, pattern: RegExp): Named[] {
  return sourcesOf(app).flatMap((source) =>
    [...source.text.matchAll(pattern)]
      .map((match) => match[1]!)
      .filter((expression) => app !== forwarded.app || expression !== forwarded.expression)
      .map((expression) => contractOf(expression, source)),
  );
}

/** Subjects of the answers that an app sends, those that it can end, and those that the gateway receives in parts. */
function streamsOf(name: string, app: App): Partial<Record<keyof App, Named[]>> {
  const answers = (operations: Operation[]) => operations.flatMap((operation) => operation.answers ?? []);
  const [sent, received] = [answers(operationsOf(app.serves)), answers(app.requests)];
  return {
    servesByInstance: sent.map(({ control }) => control),
    broadcasts: sent.map(({ frames }) => frames),
    requestsInstances: received.map(({ control }) => control),
    listens: (name === forwarded.app ? received : []).map(({ frames }) => frames),
  };
}

function names(contracts: Named[]): string[] {
  return [...new Set(contracts.map(({ name, subject }) => name ?? subject!))].sort();
}

describe.each(Object.entries(apps))('%s', (name, app) => {
  it.each(uses)('lists in "%s" exactly the contracts that its sources use', (list, pattern) => {
    const writers = list === 'publishes' ? (outboxOf[name] ?? [name]) : [name];
    const used = writers.flatMap((writer) => usedBy(writer, list, pattern));
    const streams = streamsOf(name, app)[list] ?? [];
    const withRoute = name === forwarded.app && list === 'requests' ? app.requests.filter(({ route }) => route) : [];

    expect(names((app[list] ?? []) as Named[])).toEqual(names([...used, ...withRoute, ...streams]));
  });

  it('answers and consumes only under the name of the app', () => {
    const own = [...operationsOf(app.serves).map(({ subject }) => subject), ...app.consumes.map((each) => each.name)];

    expect(own.filter((each) => !each.startsWith(`${name}.`))).toEqual([]);
  });
});

it('gives every consumer a unique name', () => {
  expect(names(allConsumers)).toHaveLength(allConsumers.length);
});
