import type { AppName } from '@parley/contracts/apps/app';
import { apps } from '@parley/contracts/apps/apps';

interface Edge {
  from: AppName;
  to: AppName;
  count: number;
}

const names = Object.keys(apps) as AppName[];
const ownerOf = (subject: string) => names.find((name) => subject.startsWith(`${name}.`));
const publishersOf = (subject: string) =>
  names.filter((name) => apps[name].publishes.some((event) => event.subject === subject));

/** The files worker uses the schema of files. */
const withSchema = new Set<AppName>(['admin', 'hub', 'files', 'tables', 'chat', 'runtime', 'models']);
const sharedStores: Partial<Record<AppName, string[]>> = {
  files: ['content', 'passages'],
  'files-worker': ['content', 'passages'],
  tables: ['passages'],
};

/** Requests (solid arrows), events (dashed arrows) and stores of the apps as a Mermaid flowchart, from the contracts. */
export function architectureDrawing(): string {
  return [
    '```mermaid',
    'flowchart TD',
    ...names.map((name) => `  ${name}["${name}${withSchema.has(name) ? `<br/>schema ${name}` : ''}"]`),
    '  content[("content: a folder or S3")]',
    '  passages[("passages: Postgres or Qdrant")]',
    '  clients(["bots, tools, browsers"]) -->|HTTP| gateway',
    ...requests().map(({ from, to, count }) => `  ${from} -->|${count}| ${to}`),
    ...events().map(({ from, to, count }) => `  ${from} -.->|${count}| ${to}`),
    ...names.flatMap((name) => (sharedStores[name] ?? []).map((store) => `  ${name} --- ${store}`)),
    '```',
  ].join('\n');
}

/** Markdown table of the apps: what they ask, and the names of their events. */
export function architectureTable(): string {
  const cell = (subjects: string[]) => subjects.map((subject) => `\`${subject}\``).join(', ') || '–';
  return [
    '| app | asks | publishes | consumes |',
    '| --- | --- | --- | --- |',
    ...names.map((name) => {
      const asked = requests().filter(({ from }) => from === name);
      const consumed = apps[name].consumes.map(({ event }) => event.subject);
      const published = apps[name].publishes.map(({ subject }) => subject);
      const cells = [name, asked.map(({ to }) => to).join(', ') || '–', cell(published), cell([...new Set(consumed)])];
      return `| ${cells.join(' | ')} |`;
    }),
  ].join('\n');
}

function requests(): Edge[] {
  return edges((name) =>
    [...apps[name].requests, ...(apps[name].requestsInstances ?? [])].map(({ subject }) => [name, ownerOf(subject)]),
  );
}

function events(): Edge[] {
  return edges((name) =>
    apps[name].consumes.flatMap(({ event }) =>
      publishersOf(event.subject).map((from): [AppName, AppName] => [from, name]),
    ),
  );
}

function edges(pairsOf: (name: AppName) => [AppName | undefined, AppName | undefined][]): Edge[] {
  const counts = new Map<string, Edge>();
  for (const [from, to] of names.flatMap(pairsOf)) {
    if (!from || !to || from === to) continue;
    const edge = counts.get(`${from} ${to}`) ?? { from, to, count: 0 };
    edge.count += 1;
    counts.set(`${from} ${to}`, edge);
  }
  return [...counts.values()];
}
