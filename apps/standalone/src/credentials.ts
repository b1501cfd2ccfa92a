import { randomBytes } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { newToken, tokenKind } from '@parley/secrets/token';

/** What a client on this machine needs; kept as `credentials.json` in the data folder. */
export interface Credentials {
  url: string;
  chatUrl: string;
  workspaceId: string;
  token: string;
}

export function credentialsPath(folder: string): string {
  return join(folder, 'credentials.json');
}

/** The token of the start before, or a new one. It is on disk before the platform knows it, so that no crash can lose it. */
export async function openToken(folder: string): Promise<{ token: string; isNew: boolean }> {
  const known = await readIfThere(credentialsPath(folder));
  const token = known && (JSON.parse(known) as Partial<Credentials>).token;
  if (token && tokenKind(token) === 'pat') return { token, isNew: false };
  const made = newToken('pat');
  await saveCredentials(folder, { url: '', chatUrl: '', workspaceId: '', token: made });
  return { token: made, isNew: true };
}

export async function saveCredentials(folder: string, credentials: Credentials): Promise<void> {
  await writeSecret(credentialsPath(folder), `${JSON.stringify(credentials, null, 2)}\n`);
}

/** The key that secrets are encrypted under: made once, then kept beside the data. */
export async function openSecretKey(folder: string): Promise<string> {
  const path = join(folder, 'secret.key');
  const known = await readIfThere(path);
  if (known) return known.trim();
  const made = randomBytes(32).toString('base64url');
  await writeSecret(path, `${made}\n`);
  return made;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whole or not at all, and for this user alone. */
async function writeSecret(path: string, content: string): Promise<void> {
  const draft = `${path}.new`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
