import { isRecord } from '@parley/contracts/is-record';

const maxIdentifierLength = 200;

/** Identifier of an installation: text, or a number as text. Undefined for any other result, and for text with U+0000. */
export function identifierOf(result: unknown): string | undefined {
  const text = typeof result === 'number' && Number.isFinite(result) ? String(result) : result;
  if (typeof text !== 'string' || text.includes('\0')) return undefined;
  return text !== '' && text.length <= maxIdentifierLength ? text : undefined;
}

const maxLinkLength = 8_000;

/** Whether a person may open it: no other scheme, such as `javascript:`. */
export function isWebLink(result: unknown): result is string {
  return (
    typeof result === 'string' &&
    result.length <= maxLinkLength &&
    /^https?:\/\/[^/?#\s]+\S*$/i.test(result) &&
    URL.canParse(result)
  );
}

export interface ScriptedResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** HTTP response that a script describes as `{status?, headers?, body?}`. Undefined for any other result. */
export function responseOf(result: unknown): ScriptedResponse | undefined {
  if (!isRecord(result)) return undefined;
  const { status, headers, body } = result;
  return {
    status: Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599 ? Number(status) : 200,
    headers: isRecord(headers)
      ? Object.fromEntries(
          Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
        )
      : {},
    body: typeof body === 'string' ? body : body === undefined || body === null ? '' : JSON.stringify(body),
  };
}
