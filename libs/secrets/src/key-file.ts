import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readSecretFile, writeSecretFile } from './secret-file';

/** Secret keys of the embedded mode: the current one, and former ones from newest to oldest. */
export interface SecretKeySet {
  secretKey: string;
  formerSecretKeys: string[];
}

/** Reads the keys of a data folder. Creates one when there is none. */
export async function openKeyFile(folder: string): Promise<SecretKeySet> {
  const path = pathIn(folder);
  const keys = parseKeyFile((await readSecretFile(path)) ?? '');
  return keys ?? save(path, []);
}

/** Key rotation: adds a new current key, atomically. The previous one becomes a former key. */
export async function addKey(folder: string): Promise<SecretKeySet> {
  const path = pathIn(folder);
  const keys = parseKeyFile((await readSecretFile(path)) ?? '');
  return save(path, keys ? [keys.secretKey, ...keys.formerSecretKeys] : []);
}

/** One key per line, the current one first. Undefined when there is no key. */
export function parseKeyFile(text: string): SecretKeySet | undefined {
  const [secretKey, ...formerSecretKeys] = text.split('\n').flatMap((line) => line.trim() || []);
  return secretKey ? { secretKey, formerSecretKeys } : undefined;
}

async function save(path: string, formerSecretKeys: string[]): Promise<SecretKeySet> {
  const secretKey = randomBytes(32).toString('base64url');
  await writeSecretFile(path, [secretKey, ...formerSecretKeys, ''].join('\n'));
  return { secretKey, formerSecretKeys };
}

function pathIn(folder: string): string {
  return join(folder, 'secret.key');
}
