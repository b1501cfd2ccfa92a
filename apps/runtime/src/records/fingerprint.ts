import { createHash } from 'node:crypto';
import type { IssueValue } from '@parley/contracts/runtime/issues';

/** Parts of a message that differ between failures of the same kind, in the order of their replacement. */
const variableParts: [RegExp, string][] = [
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'`)]+/gi, '<url>'],
  [/"[^"]*"|`[^`]*`|“[^”]*”|«[^»]*»|(?<!\w)'[^']*'(?!\w)/g, '<text>'],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b(?=[a-z_-]*\d)[0-9a-f]{8,}\b|\b(?=\w*\d)\w{16,}\b/gi, '<id>'],
  [/\d+(?:[.,:]\d+)*/g, '<number>'],
];

/** Message without ids, numbers, quoted texts and URLs. */
export function normalizedMessage(message: string): string {
  return variableParts.reduce((text, [part, name]) => text.replaceAll(part, name), message).trim();
}

/** Equal for failures of the same kind: same code and grouped values, or same code and normalised message. */
export function fingerprintOf(code: string, groupedData: Record<string, IssueValue>, message: string): string {
  const values = Object.entries(groupedData)
    .map(([name, { raw }]) => [name, raw])
    .sort();
  const kind = values.length > 0 ? values : normalizedMessage(message);
  return createHash('sha256')
    .update(JSON.stringify([code, kind]))
    .digest('base64url');
}
