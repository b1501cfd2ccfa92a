import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readSecretFile, writeSecretFile } from './secret-file';

/** Secret keys of the embedded mode: the current one, and former ones from newest to oldest. */
export interface KeptKeys {
  secretKey: string;
  formerSecretKeys: string[];
}

/** Reads the keys of a data folder. Creates one when there is none. */
export async function openKeyFile(folder: string): Promise<KeptKeys> {
  const path = pathIn(folder);
  const kept = parseKeyFile((await readSecretFile(path)) ?? '');
  return kept ?? save(path, []);
}

/** Key rotation: adds a new current key, atomically. The previous one becomes a former key. */
export async function addKey(folder: string): Promise<KeptKeys> {
  const path = pathIn(folder);
  const kept = parseKeyFile((await readSecretFile(path)) ?? '');
  return save(path, kept ? [kept.secretKey, ...kept.formerSecretKeys] : []);
}

/** One key per line, the current one first. Undefined when there is no key. */
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
