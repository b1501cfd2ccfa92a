import { newAccount } from '@parley/testing/public-api';
import { type Home, newName } from './tenant';

/** Public resources of an account that no test attacks. */
export interface PublicThings {
  workspaceId: string;
  interface: { id: string; name: string };
  integration: { id: string; name: string };
  /** Requires the interface under the alias `drawer`. */
  plugin: { id: string; name: string };
}

const version = '1.0.0';
const known = new WeakMap<Home, Promise<PublicThings>>();

export function publicThings(home: Home): Promise<PublicThings> {
  const things = known.get(home) ?? publish(home);
  known.set(home, things);
  return things;
}

async function publish(home: Home): Promise<PublicThings> {
  const { client, workspaceId } = await newAccount(home.url, home.operatorToken);
  await client.updateWorkspace({ id: workspaceId, isPublic: true });
  const drawer = await client.createInterface({ name: newName(), version, public: true });
  const { integration } = await client.createIntegration({
    name: newName(),
    version,
    visibility: 'public',
    interfaces: { drawer: { id: drawer.interface.id } },
  });
  const { plugin } = await client.createPlugin({
    name: newName(),
    version,
    visibility: 'public',
    code: { node: 'node', browser: 'browser' },
    dependencies: { interfaces: { drawer: { id: drawer.interface.id } } },
  });
  return { workspaceId, interface: drawer.interface, integration, plugin };
}
