import { randomBytes } from 'node:crypto';
import { handleForm } from '@parley/contracts/admin/workspaces';

/** Leaves room for what is appended, within the 64 characters of a handle. */
const maxStemLength = 56;
const numbered = 20;
const random = 5;

/** Handles that are like the wanted one, best first. With the random ones at the end, some of them are always free. */
export function similarHandles(wanted: string): string[] {
  const stem = wanted.replaceAll(/^[-_]+|[-_]+$/g, '').slice(0, maxStemLength) || 'workspace';
  const endings = [
    ...Array.from({ length: numbered }, (_, index) => String(index + 2)),
    ...Array.from({ length: random }, () => randomBytes(3).toString('hex')),
  ];
  return [stem, ...endings.map((ending) => `${stem}-${ending}`)].filter(
    (handle) => handle !== wanted && handleForm.test(handle),
  );
}
