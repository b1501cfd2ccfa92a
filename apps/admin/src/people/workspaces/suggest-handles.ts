import { randomBytes } from 'node:crypto';
import { handleForm } from '@parley/contracts/admin/workspaces';

/** Leaves room for the suffix within the 64 characters of a handle. */
const maxStemLength = 56;
const numbered = 20;
const random = 5;

/** Suggestions similar to a handle, best first. The random ones at the end ensure that some are always free. */
export function suggestHandles(handle: string): string[] {
  const stem = handle.replaceAll(/^[-_]+|[-_]+$/g, '').slice(0, maxStemLength) || 'workspace';
  const endings = [
    ...Array.from({ length: numbered }, (_, index) => String(index + 2)),
    ...Array.from({ length: random }, () => randomBytes(3).toString('hex')),
  ];
  return [stem, ...endings.map((ending) => `${stem}-${ending}`)].filter(
    (suggestion) => suggestion !== handle && handleForm.test(suggestion),
  );
}
