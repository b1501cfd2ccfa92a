import { variablesOf } from '@parley/config/config';

export interface DocumentedConfig {
  app: string;
  type: new () => object;
}

interface Row {
  about: string;
  accepts: string;
  fallback: string;
  apps: string[];
}

/**
 * A Markdown table of every variable and the apps that read it. A variable of several apps is one row, with the texts
 * of the first.
 */
export function configurationTable(configs: DocumentedConfig[]): string {
  const rows = new Map<string, Row>();
  for (const { app, type } of configs) {
    const defaults = new type() as Record<string, string | number | undefined>;
    for (const {
      env,
      field,
      about,
      type: { accepts },
      optional,
      defaultText,
    } of variablesOf(type)) {
      const value = defaults[field];
      const fallback = defaultText ?? (value === undefined ? (optional ? 'none' : 'required') : `\`${String(value)}\``);
      const row = rows.get(env) ?? { about, accepts, fallback, apps: [] };
      if (!row.apps.includes(app)) row.apps.push(app);
      rows.set(env, row);
    }
  }
  const lines = [...rows].map(
    ([env, { about, accepts, fallback, apps }]) =>
      `| \`${env}\` | ${about} | ${escape(accepts)} | ${fallback} | ${apps.join(', ')} |`,
  );
  return ['| variable | what it is | accepts | default | read by |', '| --- | --- | --- | --- | --- |', ...lines].join(
    '\n',
  );
}

function escape(text: string): string {
  return text.replaceAll('|', '\\|');
}
