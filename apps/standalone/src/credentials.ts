import { join } from 'node:path';
import type { Bus } from '@parley/bus/bus';
import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { readSecretFile, writeSecretFile } from '@parley/secrets/secret-file';
import { hashToken, newToken, tokenKind } from '@parley/secrets/token';

/** What a client on this machine needs; kept as `credentials.json` in the data folder. */
export interface Credentials {
  url: string;
  chatUrl: string;
  /** Of the account that has the token: `token create` makes another one for it. */
  email: string;
  workspaceId: string;
  token: string;
}

export function credentialsPath(folder: string): string {
  return join(folder, 'credentials.json');
}

/** The token of the start before, or a new one. It is on disk before the platform knows it, so that no crash can lose it. */
export async function openToken(folder: string): Promise<{ token: string; isNew: boolean }> {
  const known = await readSecretFile(credentialsPath(folder));
  const token = known && (JSON.parse(known) as Partial<Credentials>).token;
  if (token && tokenKind(token) === 'pat') return { token, isNew: false };
  const made = newToken('pat');
  await saveCredentials(folder, { url: '', chatUrl: '', email: '', workspaceId: '', token: made });
  return { token: made, isNew: true };
}

/** A token of the first account that works, and its workspace. One that is unknown by now is replaced by a new one. */
export async function findOwner(
  bus: Bus,
  email: string,
  known: string,
): Promise<Pick<Credentials, 'email' | 'workspaceId' | 'token'>> {
  const caller = systemCaller('start');
  const identify = (token: string) =>
    bus.call(admin.identity.identify, caller, { tokenHash: hashToken(token), kind: 'pat' });
  const isKnown = await identify(known).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && error.type === 'Unauthorized') return false;
      throw error;
    },
  );
  const token = isKnown
    ? known
    : (await bus.call(admin.accounts.createToken, caller, { email, note: 'credentials.json' })).value;
  const { caller: owner } = await identify(token);
  const { workspaces } = await bus.call(admin.workspaces.list, { ...caller, ...owner }, { limit: 200 });
  const workspace = workspaces.find(({ handle }) => handle === 'default') ?? workspaces.at(-1);
  return { email: owner.account?.email ?? email, workspaceId: workspace?.id ?? '', token };
}

export async function saveCredentials(folder: string, credentials: Credentials): Promise<void> {
  await writeSecretFile(credentialsPath(folder), `${JSON.stringify(credentials, null, 2)}\n`);
}
