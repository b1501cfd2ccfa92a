import { isRecord } from '@parley/contracts/is-record';

/** Tokens of a picture or a sound, whose size in tokens depends on the model. */
const mediaTokens = 1_500;
/** Roles and separators of a message. */
const messageTokens = 8;

/**
 * Estimated tokens of a text, rather too many than too few: words of letters count a token for each four characters, digits one
 * for each three, other characters one each.
 */
export function countTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(/[\p{Script=Latin}\p{M}]+|\p{N}+|\s+|[^\s]/gu)) {
    const code = piece.charCodeAt(0);
    if (code <= 32) tokens += piece.includes('\n') ? 1 : 0;
    else tokens += Math.ceil(piece.length / (code >= 48 && code <= 57 ? 3 : 4));
  }
  return tokens;
}

/** Estimated tokens of a request in the format of OpenAI. */
export function countPrompt({ messages, tools }: { messages: Record<string, unknown>[]; tools?: unknown }): number {
  let tokens = tools === undefined ? 0 : countTokens(JSON.stringify(tools));
  for (const { content, tool_calls: calls } of messages) {
    tokens += messageTokens + countContent(content);
    if (calls !== undefined) tokens += countTokens(JSON.stringify(calls));
  }
  return tokens;
}

function countContent(content: unknown): number {
  if (typeof content === 'string') return countTokens(content);
  if (!Array.isArray(content)) return 0;
  return content.reduce<number>((sum, part) => {
    const text = isRecord(part) && typeof part['text'] === 'string' ? part['text'] : undefined;
    return sum + (text === undefined ? mediaTokens : countTokens(text));
  }, 0);
}
