import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { hasHelm, type Manifest, type Release } from './helm';
import { environmentOf, ofKind, podsOf, renderSites, selects, type Site, siteNames, sites } from './releases';

type Pod = ReturnType<typeof podsOf>[number];
interface Rule {
  ports?: { port: number | string; protocol: string }[];
  to?: object[];
  from?: object[];
}

/** Ports of servers by the variable with the address, or by the Secret with the database URL. */
const portsOf: Record<Site, Record<string, number[]>> = {
  small: { 'parley-postgres': [5432], NATS_URL: [4222], S3_BUCKET: [443] },
  production: {
    ...{ 'parley-postgres': [5432], NATS_URL: [4222], S3_BUCKET: [9000], QDRANT_URL: [6333], EMBEDDINGS_URL: [8081] },
    ...{ NEXT_EMBEDDINGS_URL: [8082], COMPLETIONS_URL: [443], OTEL_EXPORTER_OTLP_ENDPOINT: [4318] },
  },
  'shared-folder': {
    ...{ 'parley-postgres': [6432], 'hub-user': [6432], 'chat-postgres': [7432], NATS_URL: [4222, 4223] },
    ...{ QDRANT_URL: [16333], EMBEDDINGS_URL: [18081], NEXT_EMBEDDINGS_URL: [], COMPLETIONS_URL: [18082] },
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: [14318] },
  },
};
const defaults = parse(readFileSync('deploy/helm/parley/values.yaml', 'utf8')).networkPolicy;

(hasHelm() ? describe : describe.skip)('the network of a release', () => {
  let releases: Record<Site, Release>;

  beforeAll(() => {
    releases = renderSites();
  });

  describe.each(siteNames)('of %s', (site) => {
    it('denies each pod all connections that no other policy permits', () => {
      const policies = ofKind(releases[site], 'NetworkPolicy').map(({ spec }) => spec);
      const denying = policies.filter(({ ingress, egress }) => !ingress && !egress);

      expect(denying).toMatchObject([{ policyTypes: ['Ingress', 'Egress'] }]);
      expect(podsOf(releases[site]).filter(({ labels }) => !selects(denying[0].podSelector, labels))).toEqual([]);
    });

    it('lets each pod connect to the servers that it has the address of, and to no other', () => {
      const connections = podsOf(releases[site]).map((pod) => {
        const rules = rulesFor(releases[site], pod, 'egress').filter(({ ports }) => ports);
        return [pod.name, rules.map(namesOfPorts).sort()];
      });

      const expected = podsOf(releases[site]).map((pod) => [pod.name, expectedPorts(site, pod)]);
      expect(connections).toEqual(expected);
    });

    it('lets apps connect to the services of the release that they have the address of', () => {
      const named = podsOf(releases[site]).flatMap((pod) =>
        Object.entries(environmentOf(pod.container)).flatMap(([name, value]) => {
          const service = /^http:\/\/parley-([\w-]+)$/.exec(value)?.[1];
          return service ? [{ pod, name, server: podNamed(releases[site], service) }] : [];
        }),
      );

      expect(named.map(({ pod, name, server }) => `${pod.name} ${name} ${server.name}`)).toEqual(
        expect.arrayContaining(['runner PUBLIC_URL gateway', 'tables FILES_URL files']),
      );
      for (const { pod, server } of named) {
        const permits = (rules: Rule[], way: 'to' | 'from', other: Pod) =>
          rules.some((rule) => selectsPod(rule[way], other) && namesOfPorts(rule) === 'TCP http');
        expect(permits(rulesFor(releases[site], pod, 'egress'), 'to', server)).toBe(true);
        expect(permits(rulesFor(releases[site], server, 'ingress'), 'from', pod)).toBe(true);
      }
    });

    it('lets clients reach the gateway and the content, Prometheus every app, and nobody a job', () => {
      const { networkPolicy, tunnel } = valuesOf(site);
      const clients = networkPolicy?.ingressFrom ?? defaults.ingressFrom;
      const metrics = { from: networkPolicy?.metricsFrom ?? defaults.metricsFrom, port: 'TCP metrics' };
      const entries = podsOf(releases[site]).map((pod) => [
        pod.name,
        rulesFor(releases[site], pod, 'ingress')
          .filter(({ from }) => !podsOf(releases[site]).some((other) => selectsPod(from, other)))
          .map((rule) => ({ from: rule.from, port: namesOfPorts(rule) })),
      ]);

      const expected = podsOf(releases[site]).map(({ kind, name }) => [
        name,
        [
          ...(['gateway', 'files'].includes(name) ? [{ from: clients, port: 'TCP http' }] : []),
          ...(name === 'gateway' && tunnel?.enabled ? [{ from: clients, port: 'TCP tunnel' }] : []),
          ...(kind === 'Deployment' ? [metrics] : []),
        ],
      ]);
      expect(entries).toEqual(expected);
    });
  });

  it('permits servers with peers at these addresses only', () => {
    const { postgres, nats, completions } = valuesOf('shared-folder');
    const peersOn = (name: string, port: number) =>
      rulesFor(releases['shared-folder'], podNamed(releases['shared-folder'], name), 'egress')
        .filter(({ ports }) => ports?.some((one) => one.port === port))
        .map(({ to }) => to);

    expect(peersOn('admin', 6432)).toEqual([postgres.peers]);
    expect(peersOn('chat', 7432)).toEqual([postgres.peers]);
    expect(peersOn('migrate', 6432)).toEqual([postgres.peers]);
    expect(peersOn('gateway', 4223)).toEqual([nats.peers]);
    expect(peersOn('streams', 4222)).toEqual([nats.peers]);
    expect(peersOn('models', 18_082)).toEqual([completions.peers]);
    for (const name of ['files', 'files-worker', 'tables']) expect([name, peersOn(name, 18_082)]).toEqual([name, []]);
    expect(peersOn('gateway', 53)).toEqual([defaults.dnsTo]);
  });

  it('creates the policies of jobs before the jobs', () => {
    for (const site of siteNames)
      for (const { metadata } of ofKind(releases[site], 'Job')) {
        const policy = ofKind(releases[site], 'NetworkPolicy').find((each) => each.metadata.name === metadata.name)!;
        expect(policy.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
        const weightOf = ({ annotations }: Manifest['metadata']) => Number(annotations!['helm.sh/hook-weight']);
        expect(weightOf(policy.metadata)).toBeLessThan(weightOf(metadata));
      }
  });
});

function valuesOf(site: Site) {
  return Object.assign({}, ...sites[site].map((file) => parse(readFileSync(file, 'utf8')) as object));
}

function rulesFor(release: Release, { labels }: Pod, way: 'ingress' | 'egress'): Rule[] {
  return ofKind(release, 'NetworkPolicy')
    .filter(({ spec }) => selects(spec.podSelector, labels))
    .flatMap(({ spec }) => (spec[way] ?? []) as Rule[]);
}

function expectedPorts(site: Site, { name, kind, container }: Pod): string[] {
  const servers = (container.env as any[]).flatMap(({ name: variable, valueFrom }) => {
    const ports = portsOf[site][variable === 'DATABASE_URL' ? valueFrom.secretKeyRef.name : variable];
    return ports?.length ? [ports.map((port) => `TCP ${port}`).join()] : [];
  });
  const own = kind === 'Deployment' && ['tables', 'runner'].includes(name) ? ['TCP http'] : [];
  return ['UDP 53,TCP 53', ...servers, ...own].sort();
}

function namesOfPorts({ ports = [] }: Rule): string {
  return ports.map(({ port, protocol }) => `${protocol} ${port}`).join();
}

/** Whether one of the peers is a pod of the same namespace with these labels. */
function selectsPod(peers: any[] = [], { labels }: Pod): boolean {
  return peers.some(
    ({ podSelector, namespaceSelector }) => podSelector && !namespaceSelector && selects(podSelector, labels),
  );
}

function podNamed(release: Release, name: string): Pod {
  return podsOf(release).find((pod) => pod.name === name)!;
}
