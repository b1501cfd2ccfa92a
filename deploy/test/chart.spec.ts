import { allOperations } from '@parley/contracts/contracts';
import { indexFile } from '@parley/contracts/files';
import { PassagesConfig } from '@parley/passages/config';
import { ServiceConfig } from '@parley/service/config';
import { readFileSync } from 'node:fs';
import { BlockList, isIPv6 } from 'node:net';
import { parse } from 'yaml';
import { deliveryQueue } from '../../apps/runtime/src/deliveries/delivery-queues';
import { apps, complaintsAbout, jobs } from './configurations';
import { hasHelm, lint, type Manifest, type Release, render } from './helm';
import { environmentOf, podsOf, renderSites, type Site, siteNames, sites } from './releases';
import { refusalsOf } from './schemas';

const suite = hasHelm() ? describe : describe.skip;
suite('the chart', () => {
  let releases: Record<Site, Release>;

  beforeAll(() => {
    releases = renderSites();
  });

  describe.each(siteNames)('%s', (name) => {
    it('deploys every app with all its required variables and no unknown ones', () => {
      const pods = podsOf(releases[name]);

      expect(pods.map((pod) => pod.name)).toEqual(expect.arrayContaining([...apps, ...jobs]));
      expect(pods.flatMap(({ process, container }) => complaintsAbout(process, environmentOf(container)))).toEqual([]);
    });

    it('takes secrets from Secrets only, and grants no pod RBAC permissions', () => {
      const secret = /_KEYS?$|_KEY_ID$|TOKEN|PASSWORD|SEED$|DATABASE_URL/;
      const variables = podsOf(releases[name]).flatMap(({ container }) => container.env);

      expect(variables.filter((variable) => secret.test(variable.name) !== Boolean(variable.valueFrom))).toEqual([]);
      expect(releases[name].manifests.filter(({ kind }) => kind === 'Secret' || kind.includes('Role'))).toEqual([]);
      for (const { spec } of podsOf(releases[name])) {
        expect(spec).toMatchObject({
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        });
        for (const { securityContext } of [...spec.containers, ...(spec.initContainers ?? [])])
          expect(securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
      }
    });

    it('limits memory to no less than the bundled model, its passages and the sandboxes need', () => {
      // Measured, in MB: a process under load, and the model with one thread. `bodies` allows for two bodies of 64 MB at once.
      const [underLoad, perThread, vectors] = [225, 250, new PassagesConfig().vectorCacheMb];
      const bodies: Record<string, number> = { gateway: 440, admin: 2 * 315, hub: 2 * 315 };
      const tooSmall = podsOf(releases[name]).filter(({ process, container }) => {
        const model = perThread * Number(environmentOf(container)['EMBEDDINGS_THREADS'] ?? 0);
        // The worker reads documents on two threads, each with a quarter of the memory.
        const [share, passages] = process === 'files-worker' ? [1 / 2, 0] : [1, model && vectors];
        const limit = megabytes(container.resources.limits.memory) * share;
        return underLoad + model + passages + (bodies[process] ?? 0) > limit;
      });
      const modelled = podsOf(releases[name]).filter(({ container }) => environmentOf(container)['EMBEDDINGS_THREADS']);

      expect(tooSmall.map(({ process }) => process)).toEqual([]);
      expect(modelled.map(({ process }) => process)).toEqual(['files', 'files-worker', 'tables']);
    });

    it('opens at most the connections of a Postgres with max_connections 300, and names the number in its notes', () => {
      const { manifests, notes } = releases[name];
      const most = Object.fromEntries(
        manifests
          .filter(({ kind }) => kind === 'HorizontalPodAutoscaler' || kind === 'ScaledObject')
          .map(({ metadata, spec }) => [metadata.name, spec.maxReplicas ?? spec.maxReplicaCount]),
      );
      const connections = manifests
        .filter(
          ({ kind, metadata }) => kind === 'Deployment' && !['parley-gateway', 'parley-runner'].includes(metadata.name),
        )
        .map(({ metadata, spec }) => {
          const { DATABASE_POOL_SIZE: size } = environmentOf(spec.template.spec.containers[0]);
          const pods = (most[metadata.name] ?? spec.replicas) + spec.strategy.rollingUpdate.maxSurge;
          return pods * Number(size ?? new ServiceConfig().databasePoolSize);
        })
        .reduce((sum, count) => sum + count);

      // Postgres reserves three connections for the superuser.
      expect(connections).toBeLessThan(297);
      expect(notes).toContain(`opens ${connections} connections to Postgres`);
    });
  });

  it('passes helm lint and the schemas of Kubernetes and KEDA', () => {
    expect(() => lint(sites.production)).not.toThrow();
    expect(refusalsOf(Object.values(releases).flatMap(({ manifests }) => manifests))).toEqual([]);
  });

  it("matches the chart's version with the npm packages", () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

    expect(parse(readFileSync('deploy/helm/parley/Chart.yaml', 'utf8'))).toMatchObject({
      version,
      appVersion: version,
    });
  });

  it.each([
    ['bots', 'bots-parley-gateway'],
    ['x'.repeat(53), `${'x'.repeat(33)}-parley-gateway`],
    [`our-parley-${'x'.repeat(42)}`, `our-parley-${'x'.repeat(29)}-gateway`],
  ])('names the gateway of the release %s %s', (name, gateway) => {
    const { manifests } = render(sites.small, {}, name);

    expect(manifests.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name)).toContain(
      gateway,
    );
  });

  it('routes clients to every public operation and to none of the operator', () => {
    const routed = releases.production.manifests
      .filter(({ kind }) => kind === 'Ingress')
      .flatMap(({ spec }) => spec.rules)
      .filter(({ host }) => host === 'parley.example.com')
      .flatMap(({ http }) => http.paths.map(({ path }: { path: string }) => path));
    const isRouted = (path: string) => routed.some((prefix) => path.startsWith(`${prefix}/`));
    const routes = allOperations.filter(({ route }) => route).map(({ route }) => route!.split(' ')[1]!);
    const isOperators = (path: string) => path.startsWith('/operator/');

    expect(routes.filter((path) => isRouted(path) === isOperators(path))).toEqual([]);
    expect(routes.some(isOperators)).toBe(true);
  });

  it('scales the worker by the lag of its own consumer, and the runtime by its own queue', () => {
    const scaled = releases.production.manifests.filter(({ kind }) => kind === 'ScaledObject');
    const [{ spec: worker }, { spec: runtime }] = scaled as [Manifest, Manifest];
    const queues = runtime.triggers[0].metadata.query.match(/(?<=queue=")[^"]+/g);

    expect(worker.triggers[0].metadata.consumer).toBe(indexFile.name.replaceAll('.', '-'));
    expect(new Set(queues)).toEqual(new Set([deliveryQueue.name]));
  });

  it('lets only models, the runtime and the runner reach public addresses, and no private or metadata address', () => {
    const { manifests } = releases['shared-folder'];
    const rulesTo = (name: string, apps: string[]) => {
      const { spec } = manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name)!;
      expect(spec.podSelector.matchExpressions[0].values).toEqual(apps);
      return spec.egress;
    };
    const blocks = rulesTo('parley-to-internet', ['models', 'runner', 'runtime'])[0].to.map(
      ({ ipBlock }: any) => ipBlock,
    );
    const reachable = (address: string, family: 'ipv4' | 'ipv6') => {
      const list = (cidrs: string[]) => {
        const found = new BlockList();
        for (const [net, bits] of cidrs.map((cidr) => cidr.split('/') as [string, string]))
          found.addSubnet(net, Number(bits), isIPv6(net) ? 'ipv6' : 'ipv4');
        return found;
      };
      return blocks.some(
        ({ cidr, except }: { cidr: string; except: string[] }) =>
          isIPv6(cidr.split('/')[0]!) === (family === 'ipv6') &&
          list([cidr]).check(address, family) &&
          !list(except).check(address, family),
      );
    };
    const privateOnes = ['10.1.2.3', '127.0.0.1', '172.31.0.1', '192.168.1.1', '100.100.100.200', '169.254.169.254'];

    expect(['1.1.1.1', '93.184.215.14', '172.32.0.1'].filter((address) => !reachable(address, 'ipv4'))).toEqual([]);
    expect(
      [...privateOnes, '168.63.129.16', '192.0.0.192', '224.0.0.1'].filter((each) => reachable(each, 'ipv4')),
    ).toEqual([]);
    expect(reachable('2606:4700::1111', 'ipv6')).toBe(true);
    expect(['::1', 'fd00:ec2::254', 'fe80::1', '2002:a00:1::'].filter((each) => reachable(each, 'ipv6'))).toEqual([]);
    expect(rulesTo('parley-to-bots', ['runtime'])).toEqual([
      { to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'bots' } } }] },
    ]);
    expect(rulesTo('parley-to-providers', ['models'])).toEqual([
      { to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'vllm' } } }] },
    ]);
  });

  it.each(['README.md', 'deploy/README.md'])(
    'installs the chart by %s with the timeout that its notes recommend',
    (file) => {
      const timeout = releases.small.notes.match(/--timeout \w+/)![0];

      expect(readFileSync(file, 'utf8').match(/helm upgrade --install.*/g)).toEqual([expect.stringContaining(timeout)]);
    },
  );

  describe('refuses', () => {
    it.each<[string, string[], object, string[]]>([
      [
        'a site without values, and says at once all that is missing',
        [],
        {},
        ['publicUrl', 'existingSecret', 'postgres.existingSecret', 'nats.url', 'blobs.s3.bucket'].map(
          (v) => `${v} is missing`,
        ),
      ],
      [
        'values that contradict each other',
        [sites.production[0]!, sites.small[1]!],
        {
          contentUrl: 'https://files.example.com/path',
          chatUrl: 'https://chat.example.com',
          tunnel: { enabled: true, url: 'https://tunnel.example.com/path' },
          blobs: { kind: 'folder' },
          apps: {
            gateway: { autoscaling: { minReplicas: 31 } },
            'files-worker': { keda: { minReplicas: 9, fallbackReplicas: 10 } },
          },
        },
        [
          'nats.existingSecret is missing',
          'blobs.folder.existingClaim or blobs.folder.size is missing',
          'trustedProxies is missing',
          'chatUrl must end in /chat',
          'tunnel.url must be a URL with a host of its own',
          'apps.files-worker.keda.monitoringEndpoint is missing',
          'apps.runtime.keda.prometheusUrl is missing',
          'apps.runner.keda.prometheusUrl is missing',
          'contentUrl must have no path',
          'apps.files-worker.keda.minReplicas must not be greater than maxReplicas',
          'apps.files-worker.keda.fallbackReplicas must not be greater than maxReplicas',
          'apps.gateway.autoscaling.minReplicas must not be greater than maxReplicas',
        ],
      ],
      [
        'secrets, versions that move, values that it does not have, and no worker at all',
        sites.small,
        {
          publicUrls: [],
          image: { tag: 'latest' },
          nats: { url: 'nats://user:secret@nats:4222' },
          qdrant: { apiKey: 'secret' },
          apps: {
            admin: { env: { PARLEY_SECRET_KEY: 'secret' } },
            hub: { env: { DATABASE_URL: 'postgres://a:b@c/d' } },
            'files-worker': { keda: { minReplicas: 0 } },
          },
        },
        [
          `invalid propertyName 'PARLEY_SECRET_KEY'`,
          `invalid propertyName 'DATABASE_URL'`,
          `at '/apps/files-worker/keda/minReplicas'`,
          `at '/nats/url'`,
          `at '/image/tag'`,
          `additional properties 'apiKey' not allowed`,
          `additional properties 'publicUrls' not allowed`,
        ],
      ],
    ])('refuses to render %s', (_what, files, values, problems) => {
      const said = messageOf(() => render(files, values));

      expect(problems.filter((problem) => !said.includes(problem))).toEqual([]);
    });
  });
});

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('It was not refused.');
}

function megabytes(quantity: string): number {
  const [, count, unit] = quantity.match(/^(\d+)(Mi|Gi)$/)!;
  return (Number(count) * (unit === 'Gi' ? 2 ** 30 : 2 ** 20)) / 1e6;
}
