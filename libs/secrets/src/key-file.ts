import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readSecretFile, writeSecretFile } from './secret-file';

/** The secret keys of an embedded mode: the current one, and those before it from the last to the first. */
export interface KeptKeys {
  secretKey: string;
  formerSecretKeys: string[];
}

/** The keys of a data folder; one is made where there is none. */
export async function openKeyFile(folder: string): Promise<KeptKeys> {
  const path = pathIn(folder);
  const kept = parseKeyFile((await readSecretFile(path)) ?? '');
  return kept ?? save(path, []);
}

/** Makes a new current key of a data folder. The one before stays, as a former one: no moment has neither. */
export async function addKey(folder: string): Promise<KeptKeys> {
  const path = pathIn(folder);
  const kept = parseKeyFile((await readSecretFile(path)) ?? '');
  return save(path, kept ? [kept.secretKey, ...kept.formerSecretKeys] : []);
}

/** One key in each line, the current one first. Undefined for a file without a key. */
export function parseKeyFile(text: string): KeptKeys | undefined {
  const [secretKey, ...formerSecretKeys] = text.split('\n').flatMap((line) => line.trim() || []);
  return secretKey ? { secretKey, formerSecretKeys } : undefined;
}

async function save(path: string, formerSecretKeys: string[]): Promise<KeptKeys> {
  const secretKey = randomBytes(32).toString('base64url');
  await writeSecretFile(path, [secretKey, ...formerSecretKeys, ''].join('\n'));
  return { secretKey, formerSecretKeys };
}

function pathIn(folder: string): string {
  return join(folder, 'secret.key');
}
