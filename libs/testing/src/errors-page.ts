import { errorCodes } from '@parley/contracts/errors';
import { type ErrorMessage, errorMessages } from './error-messages';

/** Markdown page of all error types and messages, by app and library. */
export function errorsPage(): string {
  const types = Object.entries(errorCodes).map(([type, status]) => `| \`${type}\` | ${status} |`);
  const byOwner = new Map<string, ErrorMessage[]>();
  for (const error of errorMessages()) byOwner.set(error.owner, [...(byOwner.get(error.owner) ?? []), error]);
  const messages = [...byOwner].flatMap(([owner, errors]) => [
    '',
    `### ${owner}`,
    '',
    ...errors.map(({ type, message }) => `- ${type}: ${escape(message)}`),
  ]);
  return `${[...head, '', ...typesHead, ...types, ...messagesHead, ...messages].join('\n')}\n`;
}

const head = [
  '# Errors',
  '',
  'Every error response is JSON: `{"id", "code", "type", "message"}`. `code` is the HTTP status; `id` is also in the log line',
  'of the failure, as `errorId`. Clients branch on `type`; people read `message`: it says what is wrong, then what would be',
  'right, and begins with the name of a field where one is wrong.',
  '',
  '- 503 with `Retry-After`: the request was not processed. Send it again after that many seconds.',
  '- 504 `OperationTimeout`: the operation may have been done. Send it again with the same `Idempotency-Key`, or look first.',
  '- 429 `RateLimited` with `Retry-After`: see [limits](limits.md).',
  '- Every other 4xx: the same request will fail again.',
  '',
  'This page is generated from the code: `UPDATE_DOCS=1 npm test -- documentation`.',
];

const typesHead = ['## Types', '', '| type | HTTP status |', '| --- | --- |'];

const messagesHead = [
  '',
  '## Messages',
  '',
  'Interpolated values are in braces. `FieldProblem` and `validation` are reported as `InvalidPayload` (body) or',
  '`InvalidQuery` (query, path and headers); `UnreadableDocument` is the reason of a file that could not be indexed;',
  '`CommandFailed` is printed by `npm run parley`.',
];

function escape(text: string): string {
  return text.replaceAll(/[<>*_|]/g, (character) => `\\${character}`);
}
