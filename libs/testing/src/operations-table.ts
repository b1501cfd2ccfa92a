import { allOperations } from '@parley/contracts/contracts';

const titles: Record<string, string> = {
  admin: 'Workspaces and bots',
  hub: 'Hub',
  files: 'Files',
  tables: 'Tables',
  chat: 'Chat',
  models: 'Language models',
  runtime: 'Calls of bots and integrations',
};

/** Markdown table of the public operations, by service and resource. */
export function operationsTable(): string {
  const rows = new Map<string, Map<string, string[]>>();
  let count = 0;
  for (const { subject, route, access } of allOperations) {
    // A route that ends with a slash is an alias.
    if (!route || route.endsWith('/') || access.actor === 'operator') continue;
    count += 1;
    const [service, ...rest] = subject.split('.') as [string, ...string[]];
    const verb = rest.pop()!;
    const resources = rows.get(service) ?? new Map<string, string[]>();
    const resource = rest.map(words).join(' ') || service;
    resources.set(resource, [...(resources.get(resource) ?? []), words(verb)]);
    rows.set(service, resources);
  }
  const lines = [...rows].map(([service, resources]) => {
    const texts = [...resources].map(([resource, verbs]) => `${resource} (${verbs.join(', ')})`);
    return `| ${titles[service] ?? service} | ${texts.join('; ')} |`;
  });
  return [`| ${count} operations | resources and what can be done with them |`, '| --- | --- |', ...lines].join('\n');
}

function words(camelCase: string): string {
  return camelCase.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
