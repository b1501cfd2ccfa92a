import { LoopbackServer } from '@parley/testing/loopback-server';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { run, startDistributed } from '@parley/testing/running-platform';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { describeExtension, DocumentedService } from './extending.behaviour';
import { describePlatform } from '../e2e/platform.behaviour';

interface OtlpSpan {
  name: string;
  spanId: string;
  parentSpanId?: string;
}

interface OtlpBody {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue: string } }[] };
    scopeSpans: { spans: OtlpSpan[] }[];
  }[];
}

/** Spans with the name of their process prepended to theirs. */
function spansOf({ resourceSpans }: OtlpBody): OtlpSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes.find(({ key }) => key === 'service.name')!.value.stringValue;
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, name: `${service} ${span.name}` })));
  });
}

function pathTo({ name, parentSpanId }: OtlpSpan, byId: Map<string, OtlpSpan>): string[] {
  const parent = byId.get(parentSpanId ?? '');
  return [...(parent ? pathTo(parent, byId) : []), name];
}

const suite = hasNatsServer() ? describe : describe.skip;

suite('distributed mode', () => {
  let collector: LoopbackServer;

  beforeAll(async () => {
    collector = await LoopbackServer.start((_request, response) => void response.end('{}'));
  });

  afterAll(() => collector.close());

  // Secured NATS with minimal permissions per app: a missing permission fails these tests.
  const extension = new DocumentedService();
  describePlatform(
    'over NATS, one process per app, traced',
    async () => {
      const ownUser = await extension.createUser();
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
      return (extension.platform = await startDistributed({ isSecured: true, ownUser, env }));
    },
    () => describeExtension(extension),
  );

  it('exports the spans of each request from all involved processes to the collector', () => {
    const spans = collector.requests.flatMap(({ body }) => spansOf(body as OtlpBody));
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const paths = new Set(spans.map((span) => pathTo(span, byId).join(' > ')));

    expect(paths).toContain(
      'parley-gateway PUT /v1/files > parley-gateway files.upsert > parley-files files.upsert > parley-files WITH',
    );
    const announced = 'parley-files PUT /content/:fileId > parley-files send files.uploaded';
    expect(paths).toContain(`${announced} > parley-files-worker process files.uploaded > parley-files-worker WITH`);
    expect(paths).toContain(
      'parley-files PUT /content/:fileId > parley-files-worker index file > parley-files-worker COMMIT',
    );
  });

  it.each([
    ['gateway', 'NATS_URL'],
    ['admin', 'DATABASE_URL'],
    ['hub', 'DATABASE_URL'],
    ['files', 'DATABASE_URL'],
    ['files-worker', 'DATABASE_URL'],
    ['tables', 'DATABASE_URL'],
    ['chat', 'DATABASE_URL'],
    ['runtime', 'DATABASE_URL'],
    ['runner', 'CONTENT_URL'],
  ])('%s refuses to start, and lists every missing or invalid variable', async (name, missing) => {
    const app = run(`dist/apps/${name}/src/main.js`, { PORT: 'eighty' });

    await app.ended;

    expect(app.output()).toContain('PORT must be an integer from 0 to 65535');
    expect(app.output()).toContain('NATS_URL is missing');
    expect(app.output()).toContain(`${missing} is missing`);
  });

  it('requires a NATS server and a database, and names only the missing variable', async () => {
    const platform = run('tools/distributed.mjs', { DATABASE_URL: 'postgres://127.0.0.1:1/none' });

    await platform.ended;

    expect(platform.output()).toBe('NATS_URL is missing: set it to the URL of a running server.\n');
  });

  it('refuses to start on a schema with pending migrations, and names the command', async () => {
    const [nats, database] = await Promise.all([NatsServer.start(), createEmptyDatabase()]);
    const app = run('dist/apps/tables/src/main.js', { PORT: '0', NATS_URL: nats.url, DATABASE_URL: database.url });

    await app.ended;

    expect(app.output()).toContain('npm run migrate');
    await nats.stop();
    await database.drop();
  });
});
