import { exampleSecret } from './configurations';
import { type Manifest, type Release, render } from './helm';

/** Value files of each release; later files override earlier ones. */
export const sites = {
  small: ['deploy/helm/parley/values-small.yaml', 'deploy/test/values/small.yaml'],
  production: ['deploy/helm/parley/values-production.yaml', 'deploy/test/values/production.yaml'],
  'shared-folder': ['deploy/test/values/shared-folder.yaml'],
};
export type Site = keyof typeof sites;
export const siteNames = Object.keys(sites) as Site[];

export function renderSites(): Record<Site, Release> {
  return Object.fromEntries(siteNames.map((name) => [name, render(sites[name])])) as Record<Site, Release>;
}

export function ofKind({ manifests }: Release, ...kinds: string[]): Manifest[] {
  return manifests.filter(({ kind }) => kinds.includes(kind));
}

/** Pods of Deployments and Jobs, with the name of the component and of the process in the single container. */
export function podsOf(release: Release) {
  return ofKind(release, 'Deployment', 'Job').map(({ kind, metadata, spec: { template } }) => {
    const name = metadata.labels['app.kubernetes.io/component']!;
    const process = name.replace(/^migrate-.*/, 'migrate');
    const { labels, annotations } = template.metadata as Manifest['metadata'];
    return { kind, name, process, labels, annotations, spec: template.spec, container: template.spec.containers[0] };
  });
}

export function environmentOf({ env }: { env: any[] }): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value ?? exampleSecret(name)]));
}

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
}

/** Whether a selector with the operator `In` selects these labels. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Record<string, string>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => operator === 'In' && values.includes(labels[key]!))
  );
}

export function writableMountsOf({ container }: Pick<ReturnType<typeof podsOf>[number], 'container'>): string[] {
  const mounts = (container.volumeMounts ?? []) as { mountPath: string; readOnly?: boolean }[];
  return mounts.filter(({ readOnly }) => !readOnly).map(({ mountPath }) => mountPath);
}
