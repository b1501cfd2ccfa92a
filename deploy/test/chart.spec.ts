import { allOperations } from '@parley/contracts/contracts';
import { indexFile } from '@parley/contracts/files';
import { PassagesConfig } from '@parley/passages/config';
import { ServiceConfig } from '@parley/service/config';
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { apps, complaintsAbout, exampleSecret, jobs } from './configurations';
import { hasHelm, lint, type Manifest, notes, render, renderAs } from './helm';
import { refusalsOf } from './schemas';

const suite = hasHelm() ? describe : describe.skip;
const releaseLabels = { 'app.kubernetes.io/name': 'parley', 'app.kubernetes.io/instance': 'parley' };

/** What every site has to set. */
const site = {
  publicUrl: 'https://parley.example.com',
  existingSecret: 'parley',
  postgres: { existingSecret: 'parley-postgres' },
  nats: { url: 'nats://nats.nats:4222' },
  blobs: { s3: { bucket: 'parley', existingSecret: 'parley-s3' } },
};
/** Everything that can be chosen, each server at a port of its own. */
const whole = {
  ...site,
  contentUrl: 'https://files.example.com',
  chatUrl: 'https://chat.example.com/chat',
  bootstrapEmail: 'root@example.com',
  operatorWorkspaceId: 'wkspace_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  trustedProxies: '10.0.0.0/8',
  caSecret: 'parley-ca',
  nats: {
    url: 'tls://nats.nats:4222',
    existingSecret: 'parley-nats',
    caSecret: 'parley-nats-ca',
    certSecret: 'parley-nats-cert',
  },
  qdrant: { url: 'http://qdrant.qdrant:6333', existingSecret: 'parley-qdrant' },
  blobs: { s3: { ...site.blobs.s3, endpoint: 'https://minio.example.com:9000', prefix: 'parley' } },
  embeddings: { url: 'http://tei.models:8081/v1', model: 'e5', existingSecret: 'parley-embeddings' },
  nextEmbeddings: { url: 'http://next.models:8082/v1', model: 'e6', existingSecret: 'parley-next' },
  completions: { url: 'https://models.example.com', existingSecret: 'parley-completions' },
  tracing: { url: 'http://collector.tracing:4318' },
  apps: { 'files-worker': { keda: { monitoringEndpoint: 'nats-headless.nats:8222' } } },
  ingress: { enabled: true, tlsSecret: 'parley-tls' },
};
/** Every app as large as it may grow. */
const scaling = {
  ...Object.fromEntries(apps.map((app) => [app, { autoscaling: { enabled: true } }])),
  'files-worker': { keda: { enabled: true, monitoringEndpoint: 'nats-headless.nats:8222' } },
};
const shared = { ...site, blobs: { kind: 'folder', folder: { size: '100Gi' } } };

suite('the chart', () => {
  const rendered: Record<string, Manifest[]> = {};

  beforeAll(() => {
    rendered['small'] = render(site, 'values-small.yaml');
    rendered['production'] = render(whole, 'values-production.yaml');
    rendered['with a shared folder'] = render(shared);
  });

  const production = () => rendered['production']!;
  const all = () => Object.values(rendered).flat();
  const ofKind = (kind: string, manifests = production()) => manifests.filter((manifest) => manifest.kind === kind);
  const componentOf = ({ metadata }: Manifest) => metadata.labels['app.kubernetes.io/component']!;
  const byApp = (kind: string, manifests = production()) =>
    Object.fromEntries(ofKind(kind, manifests).map((manifest) => [componentOf(manifest), manifest]));
  const podsOf = (manifests: Manifest[]) =>
    manifests
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .map((manifest) => ({ name: componentOf(manifest), pod: manifest.spec.template.spec, manifest }));

  describe.each([
    ['small', site, ['values-small.yaml']],
    ['production', whole, ['values-production.yaml']],
    ['with a shared folder', shared, []],
  ])('%s', (name, values, files) => {
    it('is what helm calls a chart', () => {
      expect(() => lint(values, ...files)).not.toThrow();
    });

    it('deploys every app, and the jobs that go first', () => {
      const names = podsOf(rendered[name]!).map((pod) => pod.name);

      expect(names.sort()).toEqual([...apps, ...jobs].sort());
    });

    it('gives each process every variable that it requires, and none that it does not read', () => {
      const complaints = podsOf(rendered[name]!).flatMap((pod) =>
        complaintsAbout(pod.name, environmentOf(pod.pod.containers[0])),
      );

      expect(complaints).toEqual([]);
    });
  });

  it('is what the schemas of Kubernetes and KEDA allow', () => {
    const [wrongValue, unknownField] = structuredClone(ofKind('Deployment'));
    wrongValue!.metadata.name = 'wrong-value';
    wrongValue!.spec.template.spec.containers[0].ports[0].containerPort = 'http';
    unknownField!.metadata.name = 'unknown-field';
    unknownField!.spec.template.spec.topologySpreadConstraint = [];

    const refusals = refusalsOf([...all(), wrongValue!, unknownField!]);

    expect(refusals).toContainEqual(expect.stringMatching(/^Deployment wrong-value: .*containerPort must be integer/));
    expect(refusals).toContainEqual(expect.stringMatching(/^Deployment unknown-field: .*topologySpreadConstraint/));
    expect(refusals.filter((refusal) => !/wrong-value|unknown-field/.test(refusal))).toEqual([]);
  });

  it('installs the version that it is of', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    const images = podsOf(all()).map(({ pod }) => pod.containers[0].image);

    expect(images.filter((image) => !image.endsWith(`:${version}`))).toEqual([]);
    expect(parse(readFileSync('deploy/helm/parley/Chart.yaml', 'utf8')).version).toBe(version);
  });

  it('names what it makes after its release, and what it is', () => {
    const nameIn = (release: string) => byApp('Deployment', renderAs(release, site))['files-worker']!.metadata.name;

    expect(nameIn('parley')).toBe('parley-files-worker');
    expect(nameIn('bots')).toBe('bots-parley-files-worker');
    expect(nameIn('x'.repeat(53))).toBe(`${'x'.repeat(33)}-parley-files-worker`);
    expect(nameIn(`our-parley-${'x'.repeat(42)}`)).toBe(`our-parley-${'x'.repeat(29)}-files-worker`);
  });

  it('says at once all that is missing', () => {
    const missing = ['publicUrl', 'existingSecret', 'postgres.existingSecret', 'nats.url', 'blobs.s3.bucket'];

    expect(() => render({})).toThrow(new RegExp(missing.map((name) => `${name} is missing`).join('[\\s\\S]*')));
    const production = /nats\.existingSecret is missing[\s\S]*keda\.monitoringEndpoint is missing/;
    expect(() => render(site, 'values-production.yaml')).toThrow(production);
    expect(() => render({ ...site, blobs: { kind: 'folder' } })).toThrow('must be ReadWriteMany');
    expect(() => render({ ...site, ingress: { enabled: true } })).toThrow('trustedProxies is missing');
    expect(() => render({ ...whole, chatUrl: 'https://chat.example.com' }, 'values-production.yaml')).toThrow(
      'chatUrl must end in /chat',
    );
  });

  it.each([
    ['gateway', 'autoscaling', { minReplicas: 11 }, 'minReplicas'],
    ['files-worker', 'keda', { minReplicas: 9 }, 'minReplicas'],
    ['files-worker', 'keda', { maxReplicas: 1 }, 'fallbackReplicas'],
  ])('refuses %s.%s %j, which has fewer pods at most than it asks for', (app, kind, numbers, wrong) => {
    expect(() => render({ ...site, apps: { [app]: { [kind]: numbers } } })).toThrow(
      `apps.${app}.${kind}.${wrong} must not be greater than maxReplicas`,
    );
  });

  it.each([
    ['the password of NATS', { nats: { url: 'nats://user:secret@nats:4222' } }, '/nats/url'],
    ['a key', { apps: { admin: { env: { PARLEY_SECRET_KEY: 'secret' } } } }, 'PARLEY_SECRET_KEY'],
    ['the URL of the database', { apps: { hub: { env: { DATABASE_URL: 'postgres://a:b@c/d' } } } }, 'DATABASE_URL'],
    ['the key of a server', { qdrant: { apiKey: 'secret' } }, 'apiKey'],
    ['an image without a version', { image: { tag: 'latest' } }, '/image/tag'],
    ['a value that it does not have', { publicUrls: [] }, 'publicUrls'],
    ['no worker at all', { apps: { 'files-worker': { keda: { minReplicas: 0 } } } }, 'minReplicas'],
  ])('takes for a value neither %s', (_what, values, named) => {
    expect(() => render({ ...site, ...values })).toThrow(named);
  });

  it('keeps secrets in the Secrets that are named, and nowhere else', () => {
    const secret = /_KEYS?$|_KEY_ID$|TOKEN|PASSWORD|SEED$|DATABASE_URL/;
    const variables = podsOf(all()).flatMap(({ pod }) => pod.containers[0].env);

    expect(variables.filter(({ name, value }) => secret.test(name) && value !== undefined)).toEqual([]);
    expect(variables.filter(({ name, valueFrom }) => !secret.test(name) && valueFrom)).toEqual([]);
    expect(ofKind('Secret', all())).toEqual([]);
    expect(ofKind('ConfigMap', all()).map(({ metadata }) => metadata.name)).toEqual(['parley-dashboard']);
  });

  it('runs every pod without rights, on a file system that it cannot change', () => {
    for (const { name, pod } of podsOf(all())) {
      expect([name, pod.automountServiceAccountToken, pod.hostNetwork, pod.hostPID]).toEqual([
        name,
        false,
        undefined,
        undefined,
      ]);
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(pod.containers).toHaveLength(1);
      expect(pod.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(pod.containers[0].resources).toMatchObject({
        requests: { cpu: expect.anything() },
        limits: { memory: expect.anything() },
      });
    }
  });

  it('leaves each process the memory that the threads of the bundled model take, on a node of any size', () => {
    const [perThread, process, vectors] = [200, 225, new PassagesConfig().vectorCacheMb];
    const needed = podsOf(all())
      .filter(({ name }) => ['files', 'files-worker', 'tables'].includes(name))
      .map(({ name, pod }) => {
        const { env, resources } = pod.containers[0];
        const threads = Number(environmentOf({ env })['EMBEDDINGS_THREADS']);
        const limit = megabytes(resources.limits.memory);
        // Two threads of the worker read documents, each in a quarter of the memory.
        const left = name === 'files-worker' ? limit / 2 - process : limit - process - vectors;
        return { name, threads, fits: perThread * threads <= left };
      });

    expect(needed).toHaveLength(9);
    expect(needed.filter(({ fits }) => !fits)).toEqual([]);
    const { env, resources } = byApp('Deployment')['files-worker']!.spec.template.spec.containers[0];
    expect(environmentOf({ env })['EMBEDDINGS_THREADS']).toBe(String(resources.requests.cpu));
    const own = render({ ...site, apps: { files: { env: { EMBEDDINGS_THREADS: '3' } } } });
    expect(environmentOf(byApp('Deployment', own)['files']!.spec.template.spec.containers[0])).toMatchObject({
      EMBEDDINGS_THREADS: '3',
    });
  });

  it('leaves the apps that take the code of bots, plugins and integrations the memory of two of 64 MB at once', () => {
    // As measured, in MB: what a process takes under load, and what two bodies add to it.
    const process = 225;
    const bodies: Record<string, number> = { gateway: 440, admin: 2 * 315, hub: 2 * 315 };
    const limits = podsOf(all())
      .filter(({ name }) => name in bodies)
      .map(({ name, pod }) => ({ name, limit: megabytes(pod.containers[0].resources.limits.memory) }));

    expect(limits).toHaveLength(9);
    expect(limits.filter(({ name, limit }) => process + bodies[name]! > limit)).toEqual([]);
  });

  it('gives the key of before to those that have the secret key, where there is one', () => {
    const keys = podsOf(production()).flatMap(({ name, pod }) =>
      pod.containers[0].env
        .filter((variable: any) => /SECRET_KEYS?$/.test(variable.name))
        .map(({ name: variable, valueFrom }: any) => [name, variable, valueFrom.secretKeyRef.optional]),
    );

    const sealing = ['admin', 'chat', 'files', 'hub'];
    expect(keys.sort()).toEqual(
      sealing.flatMap((app) => [
        [app, 'PARLEY_FORMER_SECRET_KEYS', true],
        [app, 'PARLEY_SECRET_KEY', false],
      ]),
    );
  });

  it('has every app believe the ingress controller, and no other, where a request comes from', () => {
    for (const { spec } of ofKind('Deployment'))
      expect(environmentOf(spec.template.spec.containers[0])['TRUSTED_PROXIES']).toBe('10.0.0.0/8');
    for (const { spec } of ofKind('Deployment', rendered['small']))
      expect(environmentOf(spec.template.spec.containers[0])).not.toHaveProperty('TRUSTED_PROXIES');
  });

  it('leaves /tmp to files and tables, on a disk, and to no other app', () => {
    const writable = podsOf(production()).flatMap(({ name, pod }) =>
      (pod.containers[0].volumeMounts ?? [])
        .filter(({ readOnly }: any) => !readOnly)
        .map((mount: any) => [name, mount.mountPath, pod.volumes.find((volume: any) => volume.name === mount.name)]),
    );

    const disk = (sizeLimit: string) => ({ name: 'temporary', emptyDir: { sizeLimit } });
    expect(writable).toEqual([
      ['files', '/tmp', disk('3Gi')],
      ['tables', '/tmp', disk('10Gi')],
    ]);
  });

  it('gives each process the key of NATS that is its own, and no other', () => {
    const keys = podsOf(production()).map(({ name, pod }) => [
      name,
      pod.volumes
        .flatMap(({ projected }: any) => projected?.sources ?? [])
        .flatMap(({ secret }: any) => secret.items.map(({ key }: any) => key)),
    ]);

    const certificates = ['ca.crt', 'tls.crt', 'tls.key'];
    expect(Object.fromEntries(keys)).toEqual({
      gateway: ['NATS_SEED_GATEWAY', ...certificates],
      admin: ['NATS_SEED_ADMIN', ...certificates],
      hub: ['NATS_SEED_HUB', ...certificates],
      files: ['NATS_SEED_FILES', ...certificates],
      'files-worker': ['NATS_SEED_FILES_WORKER', ...certificates],
      tables: ['NATS_SEED_TABLES', ...certificates],
      chat: ['NATS_SEED_CHAT', ...certificates],
      streams: ['NATS_SEED_OPERATOR', ...certificates],
      migrate: [],
    });
  });

  it('has every process trust the authority of the site, and finds each file where its variable says', () => {
    const files = podsOf(production()).map(({ name, pod }) => {
      const { env, volumeMounts } = pod.containers[0];
      const mounted = volumeMounts.flatMap(({ name: volume, mountPath }: any) => {
        const { secret, projected } = pod.volumes.find((candidate: any) => candidate.name === volume);
        const sources = secret ? [secret] : (projected?.sources ?? []).map((source: any) => source.secret);
        return sources.flatMap(({ items }: any) => items.map(({ path }: any) => `${mountPath}/${path}`));
      });
      const named = Object.entries(environmentOf({ env })).filter(([, value]) => value.startsWith('/etc/'));
      return {
        name,
        mounted: mounted.sort(),
        named: named.map(([, path]) => path).sort(),
        env: environmentOf({ env }),
      };
    });

    for (const { name, mounted, named, env } of files) {
      expect([name, named]).toEqual([name, mounted]);
      expect([name, env['NODE_EXTRA_CA_CERTS']]).toEqual([name, '/etc/parley/ca/ca.crt']);
    }
    expect(files.filter(({ env }) => env['NATS_CERT_FILE'] && env['NATS_KEY_FILE'])).toHaveLength(apps.length + 1);
  });

  it('asks whether a process lives without asking its servers, and waits for those at the start', () => {
    for (const { spec } of ofKind('Deployment', all())) {
      const { startupProbe, livenessProbe, readinessProbe } = spec.template.spec.containers[0];
      expect(livenessProbe.httpGet.path).toBe('/healthz');
      expect(readinessProbe.httpGet.path).toBe('/readyz');
      expect(startupProbe.httpGet.path).toBe('/healthz');
      expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThanOrEqual(120);
    }
  });

  it('gives a pod the time that its process takes to stop', () => {
    for (const { spec } of ofKind('Deployment', all())) {
      const { terminationGracePeriodSeconds, containers } = spec.template.spec;
      const env = environmentOf(containers[0]);
      const stopMs = Number(env['SHUTDOWN_GRACE_MS']) + Number(env['SHUTDOWN_TIMEOUT_MS']) + 1_000;
      expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(stopMs);
    }
    // A balancer notices within two probes.
    const { readinessProbe, env } = byApp('Deployment')['gateway']!.spec.template.spec.containers[0];
    expect(Number(environmentOf({ env })['SHUTDOWN_GRACE_MS'])).toBeGreaterThan(
      readinessProbe.periodSeconds * readinessProbe.failureThreshold * 1_000,
    );
  });

  it('spreads the pods of each app, and lets one go at a time', () => {
    const budgets = byApp('PodDisruptionBudget');
    const services = byApp('Service');
    for (const [app, { spec }] of Object.entries(byApp('Deployment'))) {
      const { labels } = spec.template.metadata;
      const own = { ...releaseLabels, 'app.kubernetes.io/component': app };
      expect(labels).toMatchObject(own);
      expect(spec.selector.matchLabels).toEqual(own);
      expect(budgets[app]!.spec).toMatchObject({ maxUnavailable: 1, selector: { matchLabels: own } });
      expect(services[app]!.spec).toMatchObject({
        selector: own,
        ports: [
          { name: 'http', port: 80, targetPort: 'http' },
          { name: 'metrics', port: 9464, targetPort: 'metrics' },
        ],
      });
      expect(spec.strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
      const spread = spec.template.spec.topologySpreadConstraints;
      // A node that is drained or full must not keep a pod pending.
      expect(spread).toMatchObject([
        { topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
        { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
      ]);
      for (const constraint of spread) {
        expect(constraint.nodeTaintsPolicy).toBe('Honor');
        expect(constraint.labelSelector.matchLabels).toEqual(own);
      }
    }
  });

  describe('NetworkPolicies', () => {
    const ports = {
      nats: 4222,
      postgres: 5432,
      qdrant: 6333,
      s3: 9000,
      embeddings: 8081,
      nextEmbeddings: 8082,
      completions: 443,
      tracing: 4318,
    };
    const names = Object.fromEntries(Object.entries(ports).map(([name, port]) => [port, name]));

    /** The pods that some policy selects, by their component. */
    function selected({ podSelector }: any): string[] {
      return podsOf(production())
        .filter(({ manifest }) => matches(podSelector, manifest.spec.template.metadata.labels))
        .map(({ name }) => name);
    }

    function rulesFor(component: string, way: 'egress' | 'ingress'): any[] {
      return ofKind('NetworkPolicy')
        .filter(({ spec }) => selected(spec).includes(component))
        .flatMap(({ spec }) => spec[way] ?? []);
    }

    it('deny what is not allowed, into and out of every pod', () => {
      const denying = ofKind('NetworkPolicy').filter(({ spec }) => !spec.ingress && !spec.egress);

      expect(denying).toHaveLength(1);
      expect(denying[0]!.spec.policyTypes).toEqual(['Ingress', 'Egress']);
      expect(selected(denying[0]!.spec).sort()).toEqual([...apps, ...jobs].sort());
      // A rule without ports or peers would allow everything.
      const rules = ofKind('NetworkPolicy').flatMap(({ spec }) => [...(spec.ingress ?? []), ...(spec.egress ?? [])]);
      expect(rules.filter((rule) => !rule.ports?.length || (rule.from && !rule.from.length))).toEqual([]);
    });

    it('let each process reach what it needs', () => {
      const reached = (component: string) =>
        rulesFor(component, 'egress')
          .flatMap((rule) => rule.ports.map(({ port }: any) => port))
          .filter((port) => port !== 53)
          .map((port) => names[port] ?? port)
          .sort();

      expect(Object.fromEntries([...apps, ...jobs].map((name) => [name, reached(name)]))).toEqual({
        gateway: ['nats', 'tracing'],
        admin: ['nats', 'postgres', 'tracing'],
        hub: ['nats', 'postgres', 'tracing'],
        chat: ['nats', 'postgres', 'tracing'],
        files: Object.keys(ports).sort(),
        'files-worker': Object.keys(ports).sort(),
        // `http` is that of the files service.
        tables: ['completions', 'embeddings', 'http', 'nats', 'postgres', 'qdrant', 'tracing'],
        migrate: ['postgres'],
        streams: ['nats'],
      });
    });

    it('let clients reach the gateway and the content address alone', () => {
      const ingress = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } };
      const monitoring = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
      const callers = (component: string) => rulesFor(component, 'ingress').flatMap((rule) => rule.from);
      const fromTables = callers('files').find((peer) => peer.podSelector);

      expect(callers('gateway')).toEqual([ingress, monitoring]);
      expect(callers('files')).toEqual(expect.arrayContaining([ingress, monitoring, fromTables]));
      expect(callers('files')).toHaveLength(3);
      expect(selected(fromTables)).toEqual(['tables']);
      for (const app of ['admin', 'hub', 'chat', 'tables', 'files-worker']) expect(callers(app)).toEqual([monitoring]);
      for (const job of jobs) expect(callers(job)).toEqual([]);
    });

    it('let all apps reach the collector of traces, where there is one', () => {
      const toTracing = ({ metadata }: Manifest) => metadata.name === 'parley-to-tracing';
      const { spec } = production().find(toTracing)!;

      expect(spec.egress).toEqual([{ ports: [{ port: 4318, protocol: 'TCP' }] }]);
      expect(selected(spec).sort()).toEqual([...apps].sort());
      expect(rendered['small']!.some(toTracing)).toBe(false);
    });

    it('are narrowed to the pods that are named', () => {
      const peers = [{ podSelector: { matchLabels: { app: 'postgres' } } }];
      const narrowed = render({ ...site, postgres: { ...site.postgres, port: 6432, peers } });
      const policy = narrowed.find(({ metadata }) => metadata.name === 'parley-to-postgres')!;

      expect(policy.spec.egress).toEqual([{ ports: [{ port: 6432, protocol: 'TCP' }], to: peers }]);
    });

    it('take the port of the pods, where the URL has that of a Service', () => {
      const at = (values: any, port: number) => ({ ...values, port });
      const manifests = render(
        {
          ...whole,
          nats: at(whole.nats, 14222),
          blobs: { s3: at(whole.blobs.s3, 19000) },
          ...Object.fromEntries(
            (['qdrant', 'embeddings', 'nextEmbeddings', 'completions', 'tracing'] as const).map((server, i) => [
              server,
              at(whole[server], 18000 + i),
            ]),
          ),
        },
        'values-production.yaml',
      );
      const opened = (name: string) =>
        manifests.find(({ metadata }) => metadata.name === `parley-to-${name}`)!.spec.egress[0].ports[0].port;

      expect(['nats', 's3', 'qdrant', 'embeddings', 'next-embeddings', 'completions', 'tracing'].map(opened)).toEqual([
        14222, 19000, 18000, 18001, 18002, 18003, 18004,
      ]);
    });

    it('of the Jobs are there before them, and not those of the release before', () => {
      const hooks = ofKind('NetworkPolicy').filter(({ metadata }) => metadata.annotations?.['helm.sh/hook']);
      const lasting = ofKind('NetworkPolicy').filter(
        ({ spec }) => spec.egress && !spec.policyTypes.includes('Ingress'),
      );

      expect(hooks.map(({ metadata, spec }) => [metadata.name, selected(spec), metadata.annotations])).toEqual(
        ['migrate', 'streams'].map((job) => [
          `parley-${job}`,
          [job],
          {
            'helm.sh/hook': 'pre-install,pre-upgrade',
            'helm.sh/hook-weight': '-1',
            'helm.sh/hook-delete-policy': 'before-hook-creation',
          },
        ]),
      );
      expect(lasting.flatMap(({ spec }) => selected(spec)).filter((name) => jobs.includes(name))).toEqual([]);
    });
  });

  it('scales services by the processor and the worker by what waits to be indexed', () => {
    const scaled = byApp('HorizontalPodAutoscaler');
    const deployments = byApp('Deployment');

    expect(Object.keys(scaled).sort()).toEqual(apps.filter((app) => app !== 'files-worker').sort());
    for (const app of apps) expect([app, 'replicas' in deployments[app]!.spec]).toEqual([app, false]);
    const { spec } = byApp('ScaledObject')['files-worker']!;
    expect(spec).toMatchObject({
      scaleTargetRef: { name: deployments['files-worker']!.metadata.name },
      minReplicaCount: 2,
      fallback: { failureThreshold: 3, replicas: 6 },
      triggers: [
        {
          type: 'nats-jetstream',
          metadata: {
            natsServerMonitoringEndpoint: 'nats-headless.nats:8222',
            stream: 'PARLEY',
            account: 'PARLEY',
            consumer: indexFile.name.replaceAll('.', '-'),
            lagThreshold: '20',
          },
        },
      ],
    });
    const open = byApp('ScaledObject', render({ ...site, apps: scaling }))['files-worker']!;
    expect(open.spec.triggers[0].metadata.account).toBe('$G');
    expect(ofKind('ScaledObject', rendered['small'])).toEqual([]);
    for (const { spec: small } of ofKind('Deployment', rendered['small'])) expect(small.replicas).toBe(1);
  });

  it.each([
    ['small', site, ['values-small.yaml']],
    ['production', whole, ['values-production.yaml']],
    ['where all scales', { ...site, apps: scaling }, []],
  ])('opens no more connections than a Postgres of 300 has, and says how many: %s', (_name, values, files) => {
    const manifests = render(values, ...files);
    const most = [...ofKind('HorizontalPodAutoscaler', manifests), ...ofKind('ScaledObject', manifests)].map(
      (manifest) => [componentOf(manifest), manifest.spec.maxReplicas ?? manifest.spec.maxReplicaCount],
    );
    const pods = Object.fromEntries(most);
    const connections = ofKind('Deployment', manifests)
      .map((manifest) => ({ app: componentOf(manifest), manifest }))
      .filter(({ app }) => app !== 'gateway')
      .map(({ app, manifest: { spec } }) => {
        const { DATABASE_POOL_SIZE = 10 } = environmentOf(spec.template.spec.containers[0]);
        return ((pods[app] ?? spec.replicas) + spec.strategy.rollingUpdate.maxSurge) * Number(DATABASE_POOL_SIZE);
      })
      .reduce((sum, count) => sum + count);

    expect(new ServiceConfig().databasePoolSize).toBe(10);
    // Postgres keeps three for its superuser.
    expect(connections).toBeLessThan(297);
    expect(notes(values, ...files)).toContain(`opens ${connections} connections to Postgres`);
  });

  describe('where an app has a database of its own', () => {
    const own = { existingSecret: 'chat-postgres', secretKey: 'URL', port: 6432, migrate: true };
    let manifests: Manifest[];

    beforeAll(() => {
      manifests = render({
        ...site,
        apps: { chat: { postgres: own }, hub: { postgres: { existingSecret: 'hub-user' } } },
      });
    });

    it('gives the app its URL, and all others the one of all', () => {
      const urls = podsOf(manifests).map(({ name, pod }) => {
        const { valueFrom } = pod.containers[0].env.find((variable: any) => variable.name === 'DATABASE_URL') ?? {};
        return [name, valueFrom && `${valueFrom.secretKeyRef.name} ${valueFrom.secretKeyRef.key}`];
      });

      const ofAll = 'parley-postgres DATABASE_URL';
      expect(Object.fromEntries(urls)).toEqual({
        gateway: undefined,
        admin: ofAll,
        hub: 'hub-user DATABASE_URL',
        files: ofAll,
        'files-worker': ofAll,
        tables: ofAll,
        chat: 'chat-postgres URL',
        migrate: ofAll,
        'migrate-chat': 'chat-postgres URL',
        streams: undefined,
      });
    });

    it('migrates it too, and lets both reach its port alone', () => {
      const [first, second, third] = ofKind('Job', manifests);
      const portsOf = (name: string) =>
        manifests
          .find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === `parley-${name}`)!
          .spec.egress.flatMap(({ ports }: any) => ports.map(({ port }: any) => port));
      const toAll = manifests.find(({ metadata }) => metadata.name === 'parley-to-postgres')!;

      expect([first, second, third].map((job) => componentOf(job!))).toEqual(['migrate', 'migrate-chat', 'streams']);
      expect(second!.spec.template.spec.containers[0].command).toEqual(['node', 'dist/apps/cli/src/migrate.js']);
      expect(portsOf('migrate-chat')).toEqual([53, 53, 6432]);
      expect(portsOf('to-postgres-chat')).toEqual([6432]);
      expect(toAll.spec.podSelector.matchExpressions[0].values).toEqual([
        'admin',
        'files',
        'files-worker',
        'hub',
        'tables',
      ]);
    });
  });

  it('warns of what a site may choose and should know', () => {
    const [open, closed] = [notes(site), notes(whole, 'values-production.yaml')];

    expect(open).toContain('NATS is open');
    expect(closed).not.toContain('NATS is open');
    expect(() =>
      render({ ...whole, nats: { url: site.nats.url, open: true } }, 'values-production.yaml'),
    ).not.toThrow();
    const hour = byApp('Job')['migrate']!.spec.activeDeadlineSeconds;
    expect(closed).toContain(`--timeout ${hour / 60 + 5}m`);
    for (const file of ['README.md', 'deploy/README.md'])
      expect(readFileSync(file, 'utf8').match(/helm upgrade --install.*/g)).toEqual([
        expect.stringContaining('--timeout 65m'),
      ]);
  });

  it('migrates, then makes the streams, then starts pods', () => {
    const hooks = jobs.map((job) => byApp('Job')[job]!);

    expect(hooks.map(({ metadata }) => metadata.annotations)).toEqual(
      ['0', '1'].map((weight) => ({
        'helm.sh/hook': 'pre-install,pre-upgrade',
        'helm.sh/hook-weight': weight,
        'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
      })),
    );
    expect(hooks.map(({ spec }) => spec.template.spec.containers[0].command)).toEqual(
      ['migrate', 'streams'].map((job) => ['node', `dist/apps/cli/src/${job}.js`]),
    );
  });

  describe('Monitoring', () => {
    const folder = 'deploy/helm/parley/files';
    const only = (kind: string) => ofKind(kind)[0]!;

    it('has the alerts and the dashboard, as they are', () => {
      const { groups } = parse(readFileSync(`${folder}/alerts.yaml`, 'utf8'));
      const dashboard = JSON.parse(readFileSync(`${folder}/dashboard.json`, 'utf8'));

      expect(only('PrometheusRule').spec).toEqual({ groups });
      expect(Object.keys(only('ConfigMap').data!)).toEqual(['parley.json']);
      expect(JSON.parse(only('ConfigMap').data!['parley.json']!)).toEqual(dashboard);
      expect(only('ConfigMap').metadata.labels).toMatchObject({ grafana_dashboard: '1' });
      for (const kind of ['ServiceMonitor', 'PrometheusRule', 'ConfigMap'])
        expect(ofKind(kind, rendered['small'])).toEqual([]);
    });

    it('leads from an alert to its page', () => {
      const runbookUrl = 'https://git.example.com/parley/blob/v1/';
      const manifests = render({ ...whole, monitoring: { runbookUrl } }, 'values-production.yaml');
      const rules = ofKind('PrometheusRule', manifests)[0]!.spec.groups.flatMap((group: any) => group.rules);
      const pages = rules.filter(({ alert }: any) => alert).map(({ annotations }: any) => annotations.runbook_url);

      expect(pages).not.toEqual([]);
      for (const page of pages) {
        expect(page.startsWith(runbookUrl)).toBe(true);
        expect([page, existsSync(page.slice(runbookUrl.length))]).toEqual([page, true]);
      }
    });

    it('reads every app', () => {
      const { selector, endpoints } = only('ServiceMonitor').spec;
      const services = ofKind('Service').filter(({ metadata }) => matches(selector, metadata.labels));

      expect(services.map(componentOf).sort()).toEqual([...apps].sort());
      expect(endpoints).toMatchObject([{ port: 'metrics', path: '/metrics' }]);
      for (const app of apps) {
        const [container] = byApp('Deployment')[app]!.spec.template.spec.containers;
        const { containerPort } = container.ports.find(({ name }: any) => name === 'metrics');
        expect(byApp('Service')[app]!.spec.ports).toContainEqual(expect.objectContaining({ targetPort: 'metrics' }));
        expect(container.env).toContainEqual({ name: 'METRICS_PORT', value: String(containerPort) });
      }
    });

    it('is let in where metrics are, and clients are not', () => {
      const policy = (name: string) => ofKind('NetworkPolicy').find(({ metadata }) => metadata.name === name)!;
      const portsOf = (name: string) =>
        policy(`parley-${name}`).spec.ingress.flatMap(({ ports }: any) => ports.map(({ port }: any) => port));

      expect(portsOf('from-metrics')).toEqual(['metrics']);
      for (const name of ['from-clients', 'from-apps']) expect(portsOf(name)).toEqual(['http']);
    });

    it('gives what it reads the labels that the alerts and the dashboard ask for', () => {
      const [{ relabelings, honorLabels }] = only('ServiceMonitor').spec.endpoints;
      const text = ['alerts.yaml', 'dashboard.json'].map((file) => readFileSync(`${folder}/${file}`, 'utf8')).join();
      const jobs = [...text.matchAll(/\bjob=~?\\?"([^"\\]*)/g)].map(([, pattern]) => new RegExp(`^(?:${pattern})$`));
      const labels = [...text.matchAll(/\bby \(([^)]*)\)|(\w+)(?:=~|!~|!=|=)\\?"/g)].flatMap(([, by, name]) =>
        (by ?? name!).split(/, ?/),
      );

      // A job is called what its Service is.
      expect(jobs).not.toEqual([]);
      for (const job of jobs) for (const { metadata } of ofKind('Service')) expect(metadata.name).toMatch(job);
      // The operator calls the Service `service` too, which is for us what a figure is of.
      expect(labels).toContain('service');
      expect(honorLabels).toBe(true);
      expect(relabelings.filter(({ targetLabel }: any) => labels.includes(targetLabel))).toEqual([]);
    });
  });

  it('leads clients to every route of theirs, and nobody to metrics or the routes of the operator', () => {
    const routed = ofKind('Ingress').flatMap(({ spec }) =>
      spec.rules.flatMap(({ host, http }: any) =>
        http.paths.map(({ path, backend }: any) => ({ url: `https://${host}${path}`, to: backend.service.name })),
      ),
    );
    const serviceOf = (url: string) =>
      routed.find((route: any) => url === route.url || url.startsWith(`${route.url}/`))?.to;
    const paths = allOperations.filter(({ route }) => route).map(({ route }) => route!.split(' ')[1]!);
    const isOperators = (path: string) => path.startsWith('/operator/');

    const gateway = 'https://parley.example.com';
    expect(paths.filter((path) => !isOperators(path) && serviceOf(gateway + path) !== 'parley-gateway')).toEqual([]);
    expect(paths.filter(isOperators).filter((path) => serviceOf(gateway + path))).toEqual([]);
    expect(['/metrics', '/readyz', '/content/x'].map((path) => serviceOf(gateway + path))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(serviceOf('https://files.example.com/content/x')).toBe('parley-files');
    expect(serviceOf('https://chat.example.com/chat/webhook/users')).toBe('parley-gateway');
    expect(serviceOf('https://chat.example.com/v1/chat/users')).toBeUndefined();
    for (const { spec } of ofKind('Ingress'))
      expect(spec.tls).toEqual([{ hosts: [spec.rules[0].host], secretName: 'parley-tls' }]);
  });

  it('lets streams stay open and large uploads pass', () => {
    const nginx = (app: string, name: string) =>
      byApp('Ingress')[app]!.metadata.annotations![`nginx.ingress.kubernetes.io/${name}`];

    for (const app of ['gateway', 'files']) {
      expect(Number(nginx(app, 'proxy-read-timeout'))).toBeGreaterThanOrEqual(3600);
      expect(Number(nginx(app, 'proxy-send-timeout'))).toBeGreaterThanOrEqual(3600);
      expect(nginx(app, 'proxy-buffering')).toBe('off');
    }
    expect(nginx('files', 'proxy-body-size')).toBe('0');
    expect(nginx('files', 'proxy-request-buffering')).toBe('off');
    expect(nginx('gateway', 'proxy-body-size')).toBe('64m');
  });

  it('shares one folder between all pods that need it, where content is kept in one', () => {
    const manifests = rendered['with a shared folder']!;
    const mounted = podsOf(manifests).filter(({ pod }) => pod.volumes?.some(({ name }: any) => name === 'blobs'));

    expect(ofKind('PersistentVolumeClaim', manifests)).toMatchObject([
      { metadata: { name: 'parley-blobs' }, spec: { accessModes: ['ReadWriteMany'] } },
    ]);
    expect(mounted.map(({ name }) => name).sort()).toEqual(['files', 'files-worker']);
    for (const { pod } of mounted) {
      expect(pod.volumes).toContainEqual({ name: 'blobs', persistentVolumeClaim: { claimName: 'parley-blobs' } });
      expect(environmentOf(pod.containers[0])['BLOBS_DIR']).toBe(pod.containers[0].volumeMounts[0].mountPath);
    }
    expect(ofKind('PersistentVolumeClaim')).toEqual([]);
  });
});

function environmentOf({ env }: { env: any[] }): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value ?? exampleSecret(name)]));
}

function megabytes(quantity: string): number {
  const [, count, unit] = quantity.match(/^(\d+)(Mi|Gi)$/)!;
  return (Number(count) * (unit === 'Gi' ? 2 ** 30 : 2 ** 20)) / 1e6;
}

function matches({ matchLabels = {}, matchExpressions = [] }: any, labels: Record<string, string>): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values }: any) => operator === 'In' && values.includes(labels[key]))
  );
}
