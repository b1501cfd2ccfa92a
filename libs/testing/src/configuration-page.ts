import { variablesOf } from '@parley/config/config';

/** Configuration class and the app that reads it. */
export interface DocumentedConfig {
  app: string;
  type: new () => object;
}

interface Variable {
  name: string;
  need?: 'always' | 'rarely';
  about: string;
  accepts: string;
  fallback: string;
  apps: string[];
}

/** Groups of variables: a variable belongs to the first group whose pattern matches. */
const groups: [title: string, pattern: RegExp][] = [
  ['Embedded mode', /^PARLEY_DATA_DIR$/],
  [
    'Addresses',
    /^(HOST|PORT|PUBLIC_URL|CHAT_URL|CONTENT_URL|FILES_URL|TUNNEL_PORT|TUNNEL_URL|WEBHOOK_URL|TRUSTED_PROXIES)$/,
  ],
  ['Secrets and the first account', /^PARLEY_/],
  ['Rate limits and load shedding', /^(RATE_LIMIT_|GATEWAY_MAX_|LISTEN_|MAX_LOOP_DELAY_MS)/],
  ['Logs, metrics and traces', /^(LOG_LEVEL|METRICS_|OTEL_)/],
  ['Graceful shutdown', /^SHUTDOWN_/],
  ['Postgres', /^DATABASE_/],
  ['NATS', /^NATS_/],
  ['Content of files', /^(BLOBS_DIR|S3_|MAX_UPLOAD_BYTES|CONTENT_)/],
  ['Text recognition (OCR)', /^OCR(_|$)/],
  ['Background work', /^SWEEP_/],
  ['Search and embedding models', /^(QDRANT_|VECTOR_|EMBEDDINGS_|NEXT_EMBEDDINGS_)/],
  ['Language models', /^COMPLETIONS_/],
  ['Chat and events', /^(CHAT_|RECURRING_|EVENT_)/],
  ['Calls of bots', /^(DELIVERIES_|DELIVERY_|EGRESS_)/],
  ['Code of bots', /^(RUNNER_|LOG_RETENTION_|(HTTPS?|NO)_PROXY$)/],
  ['Hub', /^HUB_/],
  ['Quotas of a workspace', /^QUOTA_/],
];

const sections: { need: Variable['need']; title: string; about: string }[] = [
  {
    need: 'always',
    title: 'Set these',
    about: 'For production in distributed mode; `S3_BUCKET` or `BLOBS_DIR`. The embedded mode needs none of them.',
  },
  { need: undefined, title: 'May be set', about: 'The defaults suit most installations.' },
  { need: 'rarely', title: 'Rarely needed', about: 'For unusual servers and loads, and for tests of Parley itself.' },
];

/** Markdown page of every environment variable, by need and group. A variable that several apps read is one row. */
export function configurationPage(configs: DocumentedConfig[]): string {
  const variables = variablesIn(configs);
  const parts = sections.flatMap(({ need, title, about }) => {
    const grouped = byGroup(variables.filter((variable) => variable.need === need));
    const tables = need
      ? [
          '',
          ...table(
            grouped.flatMap(([, rows]) => rows),
            configs,
          ),
        ]
      : grouped.flatMap(([group, rows]) => ['', `### ${group}`, '', ...table(rows, configs)]);
    return ['', `## ${title}`, '', about, ...tables];
  });
  return `${[...head, ...parts].join('\n')}\n`;
}

/** Groups that have variables. Throws for a variable that belongs to none. */
function byGroup(variables: Variable[]): [title: string, rows: Variable[]][] {
  const grouped = new Map(groups.map(([title]) => [title, [] as Variable[]]));
  for (const variable of variables) {
    const group = groups.find(([, pattern]) => pattern.test(variable.name));
    if (!group) throw new Error(`${variable.name} belongs to no group: add one in configuration-page.ts.`);
    grouped.get(group[0])!.push(variable);
  }
  return [...grouped].filter(([, rows]) => rows.length > 0);
}

const head = [
  '# Configuration',
  '',
  'All configuration comes from environment variables. A process with a missing or wrong variable does not start; it prints',
  'the name of the variable and the accepted values. An empty variable counts as absent. An unknown one that begins with `PARLEY_`,',
  'or that differs from one below by one or two letters, is a warning that names the nearest; one that an earlier version had is a',
  'warning that says what holds instead.',
  '',
  'This page is generated from the code: `UPDATE_DOCS=1 npm test -- documentation`.',
];

function table(rows: Variable[], configs: DocumentedConfig[]): string[] {
  return [
    '| variable | default | description | read by |',
    '| --- | --- | --- | --- |',
    ...rows.map(
      ({ name, fallback, about, accepts, apps }) =>
        `| \`${name}\` | ${fallback} | ${about} Accepts ${escape(accepts)}. | ${readers(apps, configs)} |`,
    ),
  ];
}

function readers(apps: string[], configs: DocumentedConfig[]): string {
  const all = new Set(configs.map(({ app }) => app).filter((app) => !app.startsWith('every')));
  return apps.filter((app) => all.has(app)).length === all.size ? 'all' : apps.join(', ');
}

function variablesIn(configs: DocumentedConfig[]): Variable[] {
  const variables = new Map<string, Variable>();
  for (const { app, type } of configs) {
    const defaults = new type() as Record<string, string | number | undefined>;
    for (const variable of variablesOf(type)) {
      const { env: name, need, field, about, optional, defaultText } = variable;
      const value = defaults[field];
      const fallback = defaultText ?? (value === undefined ? (optional ? 'none' : 'required') : `\`${String(value)}\``);
      const known = variables.get(name) ?? { name, need, about, accepts: variable.type.accepts, fallback, apps: [] };
      if (!known.apps.includes(app)) known.apps.push(app);
      variables.set(name, known);
    }
  }
  return [...variables.values()];
}

function escape(text: string): string {
  return text.replaceAll('|', '\\|');
}
