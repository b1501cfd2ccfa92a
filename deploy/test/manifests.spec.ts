import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { hasHelm, type Manifest, type Release } from './helm';
import {
  environmentOf,
  ofKind,
  podsOf,
  renderSites,
  selects,
  type Site,
  siteNames,
  writableMountsOf,
} from './releases';

const dashboard = readFileSync('deploy/helm/parley/files/dashboard.json', 'utf8');
const alerts = readFileSync('deploy/helm/parley/files/alerts.yaml', 'utf8');

(hasHelm() ? describe : describe.skip)('a release of the chart', () => {
  let releases: Record<Site, Release>;

  beforeAll(() => {
    releases = renderSites();
  });

  describe.each(siteNames)('%s', (site) => {
    const deployments = () => ofKind(releases[site], 'Deployment');
    const pods = () => podsOf(releases[site]);

    it('selects the pods of one Deployment by each Deployment, Service and PodDisruptionBudget', () => {
      const appPods = pods().filter(({ kind }) => kind === 'Deployment');
      const selected = ofKind(releases[site], 'Deployment', 'Service', 'PodDisruptionBudget').map((manifest) => {
        const { selector } = manifest.spec;
        const labels = manifest.kind === 'Service' ? { matchLabels: selector } : selector;
        const names = appPods.filter((pod) => selects(labels, pod.labels)).map(({ name }) => `parley-${name}`);
        return `${manifest.kind} ${names.join()}`;
      });

      expect(selected.sort()).toEqual(
        deployments()
          .flatMap(({ metadata: { name } }) =>
            ['Deployment', 'Service', 'PodDisruptionBudget'].map((k) => `${k} ${name}`),
          )
          .sort(),
      );
    });

    it('refers to ports, Services, Deployments and accounts that it has', () => {
      const services = ofKind(releases[site], 'Service');
      const accounts = ofKind(releases[site], 'ServiceAccount').map(({ metadata }) => metadata.name);
      const names = deployments().map(({ metadata }) => metadata.name);
      const portsOf = (name: string) => services.find(({ metadata }) => metadata.name === name)!.spec.ports as any[];
      const backends = ofKind(releases[site], 'Ingress').flatMap(({ spec }) =>
        spec.rules.flatMap(({ http }: any) => http.paths.map(({ backend }: any) => backend.service)),
      );
      const scaled = ofKind(releases[site], 'HorizontalPodAutoscaler', 'ScaledObject').map(
        ({ spec }) => spec.scaleTargetRef.name as string,
      );

      expect(backends.filter(({ name, port }: any) => !portsOf(name).some((one) => one.name === port.name))).toEqual(
        [],
      );
      for (const { metadata, spec } of deployments()) {
        const { containers, serviceAccountName } = spec.template.spec;
        const open = containers[0].ports.map(({ name }: any) => name);
        expect(accounts).toContain(serviceAccountName);
        expect(portsOf(metadata.name).map(({ targetPort }) => targetPort)).toEqual(open);
        expect(open.slice(0, 2)).toEqual(['http', 'metrics']);
        // Otherwise each upgrade would undo the autoscaler.
        expect([metadata.name, spec.replicas === undefined]).toEqual([metadata.name, scaled.includes(metadata.name)]);
      }
      expect(scaled.filter((name) => !names.includes(name))).toEqual([]);
      expect(ofKind(releases[site], 'ServiceMonitor').filter((each) => !monitorsAll(each, services))).toEqual([]);
    });

    it('mounts the files that variables name, and each volume', () => {
      for (const { spec, container } of pods()) {
        const mounts = (container.volumeMounts ?? []) as { name: string; mountPath: string }[];
        const paths = Object.values(environmentOf(container)).filter((value) => value.startsWith('/'));

        expect(paths.filter((path) => !mounts.some(({ mountPath }) => path.startsWith(mountPath)))).toEqual([]);
        expect(mounts.map(({ name }) => name)).toEqual((spec.volumes ?? []).map(({ name }: any) => name));
        const claims = (spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }: any) => claim?.claimName ?? []);
        const claimed = ofKind(releases[site], 'PersistentVolumeClaim').map(({ metadata }) => metadata.name);
        expect(claims.filter((name: string) => !claimed.includes(name))).toEqual([]);
      }
    });

    it('lets apps write to a temporary folder of limited size where they need one, and to the shared folder', () => {
      const writable = Object.fromEntries(
        pods()
          .map((pod) => [pod.name, writableMountsOf(pod)] as const)
          .filter(([, mounts]) => mounts.length > 0),
      );
      const volumes = pods().flatMap(({ spec }) => spec.volumes ?? []);

      const shared = site === 'shared-folder' ? ['/blobs'] : [];
      expect(writable).toEqual({
        files: [...shared, '/tmp'],
        ...(shared.length > 0 ? { 'files-worker': shared } : {}),
        runner: ['/tmp'],
        tables: ['/tmp'],
      });
      for (const { emptyDir } of volumes.filter(({ name }) => name === 'temporary'))
        expect(emptyDir).toEqual({ sizeLimit: expect.stringMatching(/^\d+[MG]i$/) });
    });

    it('runs each container as an ordinary user, with requests and a limit of memory', () => {
      const id = site === 'shared-folder' ? 2000 : 1000;

      for (const { spec, container } of pods()) {
        expect(spec.securityContext).toEqual({
          ...{ runAsNonRoot: true, runAsUser: id, runAsGroup: id, fsGroup: id },
          ...{ fsGroupChangePolicy: 'OnRootMismatch', seccompProfile: { type: 'RuntimeDefault' } },
        });
        expect(spec).toMatchObject({ enableServiceLinks: false, automountServiceAccountToken: false });
        expect(spec).not.toHaveProperty('hostNetwork');
        expect(container.resources).toEqual({
          requests: { cpu: expect.anything(), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        });
      }
    });

    it('replaces pods one by one, and gives each the time that its process takes to stop', () => {
      for (const { metadata, spec } of deployments()) {
        const pod = spec.template.spec;
        const { SHUTDOWN_GRACE_MS: grace, SHUTDOWN_TIMEOUT_MS: timeout } = environmentOf(pod.containers[0]);

        expect(spec.strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
        expect(1000 * pod.terminationGracePeriodSeconds).toBeGreaterThan(Number(grace) + Number(timeout) + 2_000);
        expect(pod.topologySpreadConstraints.map(({ topologyKey }: any) => topologyKey)).toEqual([
          'kubernetes.io/hostname',
          'topology.kubernetes.io/zone',
        ]);
        for (const { labelSelector } of pod.topologySpreadConstraints)
          expect([metadata.name, selects(labelSelector, spec.template.metadata.labels)]).toEqual([metadata.name, true]);
      }
      for (const { spec } of ofKind(releases[site], 'PodDisruptionBudget')) expect(spec.maxUnavailable).toBe(1);
    });

    it('restarts a process that does not answer, and sends requests to ready ones only', () => {
      const at = (path: string) => ({ httpGet: { path, port: 'http' } });

      for (const { spec } of deployments())
        expect(spec.template.spec.containers[0]).toMatchObject({
          startupProbe: { ...at('/healthz'), periodSeconds: 2, failureThreshold: 150 },
          livenessProbe: at('/healthz'),
          readinessProbe: at('/readyz'),
        });
    });

    it('migrates the databases and creates the streams before the pods of a version start', () => {
      const jobs = ofKind(releases[site], 'Job');
      const commands = jobs.map(({ metadata: { annotations }, spec }) => {
        expect(annotations).toMatchObject({
          'helm.sh/hook': 'pre-install,pre-upgrade',
          'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
        });
        const { restartPolicy, containers } = spec.template.spec;
        expect([restartPolicy, spec.backoffLimit]).toEqual(['Never', 3]);
        expect(spec.activeDeadlineSeconds).toBeGreaterThanOrEqual(600);
        return `${annotations!['helm.sh/hook-weight']} ${containers[0].command.join(' ')}`;
      });

      const migrations = site === 'shared-folder' ? 2 : 1;
      expect(commands.sort()).toEqual([
        ...Array.from({ length: migrations }, (_, weight) => `${weight} node dist/apps/cli/src/migrate.js`),
        `${migrations} node dist/apps/cli/src/streams.js`,
      ]);
    });
  });

  const environment = (site: Site, app: string) =>
    environmentOf(podsOf(releases[site]).find(({ name }) => name === app)!.container);

  it('passes the addresses of the values to the apps', () => {
    const clients = {
      CONTENT_URL: 'https://files.example.com',
      CHAT_URL: 'https://chat.example.com/chat',
      TUNNEL_URL: 'https://tunnel.example.com',
      TUNNEL_PORT: '3100',
      TRUSTED_PROXIES: '10.0.0.0/8',
    };

    expect(environment('production', 'gateway')).toMatchObject(clients);
    expect(environment('production', 'admin')).toMatchObject({
      PUBLIC_URL: 'https://parley.example.com',
      CHAT_URL: clients.CHAT_URL,
      PARLEY_BOOTSTRAP_EMAIL: 'root@example.com',
      HUB_OPERATOR_WORKSPACE_ID: 'wkspace_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    });
    expect(environment('production', 'hub')).toMatchObject({
      HUB_OPERATOR_WORKSPACE_ID: 'wkspace_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    });
    expect(environment('production', 'runtime')).toMatchObject({ TUNNEL_URL: clients.TUNNEL_URL });
    expect(environment('production', 'runner')).toMatchObject({
      CONTENT_URL: clients.CONTENT_URL,
      WEBHOOK_URL: 'https://parley.example.com/webhooks',
    });
    expect(environment('production', 'files-worker')).toMatchObject({
      ...{
        S3_ENDPOINT: 'https://minio.example.com:9000',
        S3_BUCKET: 'parley',
        S3_PREFIX: 'parley',
        S3_REGION: 'us-east-1',
      },
      ...{ EMBEDDINGS_MODEL: 'e5', NEXT_EMBEDDINGS_MODEL: 'e6', NATS_REPLICAS: '3' },
    });
    expect(environment('shared-folder', 'files')).toMatchObject({
      ...{ BLOBS_DIR: '/blobs', CONTENT_URL: 'https://parley.example.com:8443', MAX_UPLOAD_BYTES: '100000000' },
      ...{ NEXT_EMBEDDINGS_URL: 'bundled', LOG_LEVEL: 'warn' },
    });
    expect(environment('shared-folder', 'chat')).toMatchObject({
      ...{ RECURRING_MIN_SECONDS: '30', EVENT_RETENTION_DAYS: '7', LOG_LEVEL: 'debug' },
    });
  });

  it('passes settings of language models in values of 0.2.0 to models, and to no other app', () => {
    expect(environment('shared-folder', 'models')).toMatchObject({
      ...{ COMPLETIONS_MODEL_ACCURATE: 'large', COMPLETIONS_TIMEOUT_MS: '120000' },
    });
    const others = podsOf(releases['shared-folder']).filter(({ name }) => name !== 'models');
    const variables = others.flatMap(({ container }) => (container.env as { name: string }[]).map(({ name }) => name));
    expect(variables.filter((name) => name.startsWith('COMPLETIONS_'))).toEqual([]);
  });

  it('takes each secret from the Secret that the values name', () => {
    const secrets = podsOf(releases.production).flatMap(({ container }) =>
      (container.env as any[]).flatMap(({ name, valueFrom }) => (valueFrom ? [[name, valueFrom.secretKeyRef]] : [])),
    );

    expect(Object.fromEntries(secrets)).toEqual({
      DATABASE_URL: { name: 'parley-postgres', key: 'DATABASE_URL', optional: false },
      PARLEY_SECRET_KEY: { name: 'parley', key: 'PARLEY_SECRET_KEY', optional: false },
      PARLEY_FORMER_SECRET_KEYS: { name: 'parley', key: 'PARLEY_FORMER_SECRET_KEYS', optional: true },
      PARLEY_BOOTSTRAP_TOKEN: { name: 'parley', key: 'PARLEY_BOOTSTRAP_TOKEN', optional: false },
      CHAT_ENCRYPTION_KEY: { name: 'parley', key: 'CHAT_ENCRYPTION_KEY', optional: true },
      QDRANT_API_KEY: { name: 'parley-qdrant', key: 'QDRANT_API_KEY', optional: false },
      EMBEDDINGS_API_KEY: { name: 'parley-embeddings', key: 'EMBEDDINGS_API_KEY', optional: false },
      NEXT_EMBEDDINGS_API_KEY: { name: 'parley-next', key: 'NEXT_EMBEDDINGS_API_KEY', optional: false },
      COMPLETIONS_API_KEY: { name: 'parley-completions', key: 'COMPLETIONS_API_KEY', optional: false },
      S3_ACCESS_KEY_ID: { name: 'parley-s3', key: 'S3_ACCESS_KEY_ID', optional: false },
      S3_SECRET_ACCESS_KEY: { name: 'parley-s3', key: 'S3_SECRET_ACCESS_KEY', optional: false },
    });
  });

  it('gives each pod its own NATS key, and the certificates, in files that only its group can read', () => {
    for (const { name, spec } of podsOf(releases.production).filter((pod) => pod.process !== 'migrate')) {
      const [nats, ca] = spec.volumes;
      const user = (name === 'streams' ? 'operator' : name).toUpperCase().replace('-', '_');

      expect(nats.projected.defaultMode).toBe(0o440);
      expect(nats.projected.sources).toEqual([
        { secret: { name: 'parley-nats', items: [{ key: `NATS_SEED_${user}`, path: 'seed' }] } },
        { secret: { name: 'parley-nats-ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          secret: {
            name: 'parley-nats-cert',
            items: [
              { key: 'tls.crt', path: 'tls.crt' },
              { key: 'tls.key', path: 'tls.key' },
            ],
          },
        },
      ]);
      expect(ca.secret).toEqual({ secretName: 'parley-ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] });
    }
  });

  it('applies the pod settings of the values', () => {
    for (const { spec, container, annotations } of podsOf(releases['shared-folder'])) {
      expect(annotations).toEqual({ 'example.com/team': 'bots' });
      expect(spec).toMatchObject({
        nodeSelector: { 'kubernetes.io/arch': 'amd64' },
        tolerations: [{ key: 'example.com/bots', operator: 'Exists' }],
        priorityClassName: 'important',
        imagePullSecrets: [{ name: 'registry' }],
      });
      expect(container.imagePullPolicy).toBe('Always');
      expect(container.image).toMatch(/^registry\.example\.com\/parley-[a-z-]+:\d+\.\d+\.\d+$/);
    }
    const sandboxed = podsOf(releases.production).filter(({ spec }) => spec.runtimeClassName);
    expect(sandboxed.map(({ name, spec }) => [name, spec.runtimeClassName])).toEqual([['runner', 'gvisor']]);
    const account = ofKind(releases['shared-folder'], 'ServiceAccount').filter(({ metadata }) => metadata.annotations);
    expect(account.map(({ metadata }) => metadata.name)).toEqual(['parley-files']);
    expect(account[0]!.metadata.annotations).toEqual({
      'eks.amazonaws.com/role-arn': 'arn:aws:iam::000000000000:role/parley-files',
    });
  });

  it('keeps the shared folder of contents when the release is removed', () => {
    expect(ofKind(releases['shared-folder'], 'PersistentVolumeClaim')).toMatchObject([
      {
        metadata: { annotations: { 'helm.sh/resource-policy': 'keep' } },
        spec: {
          accessModes: ['ReadWriteMany'],
          storageClassName: 'nfs',
          resources: { requests: { storage: '100Gi' } },
        },
      },
    ]);
  });

  it('routes each public host to its app, with TLS and bodies of the sizes that the app accepts', () => {
    const ingresses = (site: Site) =>
      ofKind(releases[site], 'Ingress').map(({ metadata, spec }) => {
        const [{ host, http }] = spec.rules;
        const { service } = http.paths[0].backend;
        const limit = metadata.annotations?.['nginx.ingress.kubernetes.io/proxy-body-size'] ?? 'none';
        return `${spec.ingressClassName} ${host} ${spec.tls?.[0].secretName} → ${service.name}:${service.port.name}, ${limit}`;
      });

    expect(ingresses('small')).toEqual([]);
    expect(ingresses('production').sort()).toEqual([
      'nginx chat.example.com parley-tls → parley-gateway:http, 64m',
      'nginx files.example.com parley-tls → parley-files:http, 0',
      'nginx parley.example.com parley-tls → parley-gateway:http, 64m',
      'nginx tunnel.example.com parley-tls → parley-gateway:tunnel, none',
    ]);
    expect(ingresses('shared-folder').sort()).toEqual([
      'traefik parley.example.com undefined → parley-files:http, 0',
      'traefik parley.example.com undefined → parley-gateway:http, 64m',
    ]);
    for (const { metadata } of ofKind(releases.production, 'Ingress'))
      expect(metadata.annotations).toMatchObject({ 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' });
  });

  it('scales every app but the small release', () => {
    const scaled = (site: Site) =>
      ofKind(releases[site], 'HorizontalPodAutoscaler', 'ScaledObject')
        .map(({ metadata, spec }) => {
          const [least, most] = [spec.minReplicas ?? spec.minReplicaCount, spec.maxReplicas ?? spec.maxReplicaCount];
          expect(least).toBeGreaterThan(0);
          expect(most).toBeGreaterThan(least);
          return metadata.name;
        })
        .sort();

    expect(scaled('small')).toEqual([]);
    expect(scaled('production')).toEqual(
      ofKind(releases.production, 'Deployment')
        .map(({ metadata }) => metadata.name)
        .sort(),
    );
  });

  it('installs the alerts with links to the runbook, and the dashboard', () => {
    const [rule] = ofKind(releases.production, 'PrometheusRule');
    const [map] = ofKind(releases.production, 'ConfigMap');

    const linked = alerts.replaceAll('runbook_url: docs', 'runbook_url: https://git.example.com/parley/blob/v1/docs');
    expect(rule!.spec).toEqual(parse(linked));
    expect(map!.data).toEqual({ 'parley.json': dashboard });
    expect(map!.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
  });

  it('warns in its notes about what the values leave open', () => {
    const open = ['NATS requires no authentication', 'There is no Ingress', 'Passages are searched in process'];

    expect(open.filter((text) => !releases.small.notes.includes(text))).toEqual([]);
    expect(open.filter((text) => releases.production.notes.includes(text))).toEqual([]);
    expect(releases.small.notes).toContain('curl https://parley.example.com/v1/admin/account/me');
  });
});

function monitorsAll({ spec }: Manifest, services: Manifest[]): boolean {
  const [{ port, path }] = spec.endpoints;
  return (
    path === '/metrics' &&
    services.every(
      ({ metadata, spec: { ports } }) =>
        selects(spec.selector, metadata.labels) && ports.some(({ name }: { name: string }) => name === port),
    )
  );
}
