import { readConfigs } from '@parley/config/config';
import { NatsConfig, type ProcessConfig } from '@parley/service/config';
import { LoopbackServer } from '@parley/testing/loopback-server';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { run, startDistributed } from '@parley/testing/running-platform';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { ChatConfig } from '../../apps/chat/src/config';
import { FilesConfig } from '../../apps/files/src/config';
import { FilesWorkerConfig } from '../../apps/files-worker/src/config';
import { GatewayConfig } from '../../apps/gateway/src/config';
import { HubConfig } from '../../apps/hub/src/config';
import { RunnerConfig } from '../../apps/runner/src/config';
import { RuntimeConfig } from '../../apps/runtime/src/config';
import { TablesConfig } from '../../apps/tables/src/config';
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

function problemsOf(missing: string): string[] {
  return ['PORT must be an integer from 0 to 65535', 'NATS_URL is missing', `${missing} is missing`];
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

  it('refuses to start, and lists every missing or invalid variable', async () => {
    const app = run('dist/apps/admin/src/main.js', { PORT: 'eighty' });

    await app.ended;

    for (const problem of problemsOf('DATABASE_URL')) expect(app.output()).toContain(problem);
  });

  // Every main passes its configuration to `runApp`: read here without a process of two seconds for each.
  it.each([
    ['gateway', GatewayConfig, 'NATS_URL'],
    ['hub', HubConfig, 'DATABASE_URL'],
    ['files', FilesConfig, 'DATABASE_URL'],
    ['files-worker', FilesWorkerConfig, 'DATABASE_URL'],
    ['tables', TablesConfig, 'DATABASE_URL'],
    ['chat', ChatConfig, 'DATABASE_URL'],
    ['runtime', RuntimeConfig, 'DATABASE_URL'],
    ['runner', RunnerConfig, 'CONTENT_URL'],
  ])('lists every missing or invalid variable of %s', (_name, config: new () => ProcessConfig, missing) => {
    const read = () => readConfigs({ config, nats: NatsConfig }, { PORT: 'eighty' });

    for (const problem of problemsOf(missing)) expect(read).toThrow(problem);
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
