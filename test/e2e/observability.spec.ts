import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import type { PublicApi } from '@parley/testing/public-api';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { parse } from 'yaml';
import { startAllServices } from '../support/all-services';

const folder = 'deploy/helm/parley/files';
const pages = 'docs/runbook';
/** Metrics of Prometheus itself, and the labels that it adds. */
const ofPrometheus = { up: [] as string[] };
const addedLabels = ['job', 'instance', 'le'];

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; runbook_url: string };
}

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { expr: string }[];
}

const rules = (parse(readFileSync(`${folder}/alerts.yaml`, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const { panels } = JSON.parse(readFileSync(`${folder}/dashboard.json`, 'utf8')) as { panels: Panel[] };
const expressions = [
  ...rules.map(({ alert, expr }) => ({ of: alert, expr })),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ of: title, expr }))),
];

/** Metrics of a PromQL expression, with the labels in its matchers and in `by (...)`. */
function namedIn(expr: string): { metric: string; labels: string[] }[] {
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names]) =>
    names!.split(',').map((name) => name.trim()),
  );
  return [...expr.matchAll(/\b((?:parley|nodejs|process)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric, matchers = '']) => ({
      metric: metric!,
      labels: [...grouped, ...[...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, name]) => name!)],
    }),
  );
}

describe('the metrics of the dashboard and the alerts', () => {
  let embeddings: EmbeddingServer;
  let api: PublicApi;
  /** Labels of every exported series by its name. */
  let exported: Map<string, string[]>;

  beforeAll(async () => {
    embeddings = await EmbeddingServer.start();
    api = await startAllServices({ embeddingsUrl: embeddings.url });
    const ofApps = api.apps.map((app) => app.get<Platform>(platformToken, { strict: false }).metrics);
    // The metrics of the process are collected from the first scrape on.
    await Promise.all(ofApps.map((each) => each.text()));
    const metrics = ofApps.flatMap(({ registry }) => registry.getMetricsAsArray());
    exported = new Map(Object.entries(ofPrometheus));
    for (const metric of metrics as unknown as { name: string; labelNames: string[] }[]) {
      const isSpread = 'bucketValues' in metric || 'percentiles' in metric || metric.name.endsWith('_seconds');
      for (const suffix of ['', ...(isSpread ? ['_bucket', '_sum', '_count'] : [])]) {
        exported.set(metric.name + suffix, metric.labelNames);
      }
    }
  });

  afterAll(async () => {
    await api?.stop();
    await embeddings?.stop();
  });

  it('exports the metrics of dashboard and alerts, with these labels', () => {
    const unknown = expressions.flatMap(({ of, expr }) =>
      namedIn(expr)
        .filter(({ metric, labels }) => {
          const known = exported.get(metric);
          return !known || labels.some((label) => !addedLabels.includes(label) && !known.includes(label));
        })
        .map(({ metric, labels }) => `${of}: ${metric} by ${labels.join(', ')}`),
    );

    expect(unknown).toEqual([]);
  });

  it('shows all parley_ metrics that the processes export in dashboard or alerts', () => {
    const asked = new Set(expressions.flatMap(({ expr }) => namedIn(expr).map(({ metric }) => metric)));
    const ours = [...exported.keys()].filter((name) => name.startsWith('parley_'));

    const unseen = ours.filter(
      (name) => ![...asked].some((metric) => metric.startsWith(name) || name.startsWith(metric)),
    );

    expect(unseen.filter((name) => !/_(bucket|sum|count)$/.test(name))).toEqual([]);
  });
});

it('documents each alert on a runbook page, and no other', () => {
  const named = rules.map(({ annotations }) => annotations.runbook_url);

  expect([...named].sort()).toEqual(
    readdirSync(pages)
      .filter((name) => name !== 'README.md')
      .sort()
      .map((name) => `${pages}/${name}`),
  );
  for (const { alert, annotations } of rules) {
    const text = readFileSync(annotations.runbook_url, 'utf8');
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toEqual([
      `# ${alert}`,
      '## Impact',
      '## Diagnosis',
      '## Mitigation',
      '## Escalation',
    ]);
  }
});

it('links only to existing pages in the runbook', () => {
  const known = readdirSync(pages);
  const links = known.flatMap((name) =>
    [...readFileSync(`${pages}/${name}`, 'utf8').matchAll(/\]\(([^)]*)\)/g)].map(([, page]) => page!),
  );

  expect(links.length).toBeGreaterThan(0);
  expect(links.filter((page) => !known.includes(page))).toEqual([]);
});

it('places dashboard panels with unique ids that do not overlap', () => {
  const squares = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );

  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(squares).size).toBe(squares.length);
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
});

const tests = hasPromtool() ? it : it.skip;

tests.each([
  ['accepts the rules', ['check', 'rules', `${folder}/alerts.yaml`]],
  ['raises each alert in its test cases', ['test', 'rules', 'deploy/test/alerts.test.yaml']],
])('Prometheus %s', (_what, args) => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });

  expect(`${stdout}${stderr}`).toContain('SUCCESS');
  expect(status).toBe(0);
});

tests('has a test case in which each alert fires', () => {
  const text = readFileSync('deploy/test/alerts.test.yaml', 'utf8');
  const cases = (
    parse(text) as { tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[] }
  ).tests.flatMap(({ alert_rule_test }) => alert_rule_test);

  const raised = cases.filter(({ exp_alerts }) => exp_alerts?.length).map(({ alertname }) => alertname);

  expect([...new Set(raised)].sort()).toEqual(rules.map(({ alert }) => alert).sort());
});

function hasPromtool(): boolean {
  if (spawnSync('promtool', ['--version']).status === 0) return true;
  const message = 'SKIPPED: the alert rules. promtool is not on the PATH (Debian: apt-get install prometheus).';
  if (process.env['PARLEY_REQUIRE_PROMTOOL'] === '1') throw new Error(message);
  process.stderr.write(`\n${message}\n`);
  return false;
}
