import { join } from 'node:path';
import type { ParleyClient } from '@parley/transport/parley-client';
import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { readSecretFile, writeSecretFile } from '@parley/secrets/secret-file';
import { hashToken, newToken, tokenKind } from '@parley/secrets/token';

/** Credentials for clients on this machine, stored as `credentials.json` in the data folder. */
export interface Credentials {
  url: string;
  chatUrl: string;
  /** Email of the account that owns the token. `token create` creates another token for it. */
  email: string;
  workspaceId: string;
  token: string;
}

export function credentialsPath(folder: string): string {
  return join(folder, 'credentials.json');
}

/** Token of the previous start, or a new one. It is written to disk before it is registered, so a crash cannot lose it. */
export async function openToken(folder: string): Promise<{ token: string; isNew: boolean }> {
  const known = await readSecretFile(credentialsPath(folder));
  const token = known && (JSON.parse(known) as Partial<Credentials>).token;
  if (token && tokenKind(token) === 'pat') return { token, isNew: false };
  const made = newToken('pat');
  await saveCredentials(folder, { url: '', chatUrl: '', email: '', workspaceId: '', token: made });
  return { token: made, isNew: true };
}

/** A valid token of the first account, and its workspace. An unknown token is replaced by a new one. */
export async function findOwner(
  client: ParleyClient,
  email: string,
  known: string,
): Promise<Pick<Credentials, 'email' | 'workspaceId' | 'token'>> {
  const caller = systemCaller('start');
  const identify = (token: string) =>
    client.call(admin.identity.identify, caller, { tokenHash: hashToken(token), kind: 'pat' });
  const isKnown = await identify(known).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && error.type === 'Unauthorized') return false;
      throw error;
    },
  );
  const token = isKnown
    ? known
    : (await client.call(admin.accounts.createToken, caller, { email, note: 'credentials.json' })).value;
  const { caller: owner } = await identify(token);
  const { workspaces } = await client.call(admin.workspaces.list, { ...caller, ...owner }, { limit: 200 });
  const workspace = workspaces.find(({ handle }) => handle === 'default') ?? workspaces.at(-1);
  return { email: owner.account?.email ?? email, workspaceId: workspace?.id ?? '', token };
}

/** Link that signs the account in to the console once. */
export async function consoleLinkOf(client: ParleyClient, email: string): Promise<string> {
  return (await client.call(admin.consoleLinks.create, systemCaller('start'), { email })).url;
}

/** Page of the web chat of the newest bot; undefined without one. */
export async function webchatUrlOf(client: ParleyClient, workspaceId: string): Promise<string | undefined> {
  const { url } = await client.call(admin.webchats.findNewest, systemCaller('start'), { workspaceId });
  return url ?? undefined;
}

export async function saveCredentials(folder: string, credentials: Credentials): Promise<void> {
  await writeSecretFile(credentialsPath(folder), `${JSON.stringify(credentials, null, 2)}\n`);
}
