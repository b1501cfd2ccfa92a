/** Levels of objects and arrays in an input. Deeper nesting exhausts the stack of readers, Postgres included. */
const maxDepth = 100;
const tooLarge = `must be a number up to ${Number.MAX_VALUE}`;
const tooDeep = `must not be nested deeper than ${maxDepth} levels`;

/**
 * Reason, with the path of the field, why an input cannot be stored unchanged: U+0000 or an unpaired surrogate in a
 * text, a number that JSON parses as infinite (and writes as null), or too deep nesting.
 */
export function storageProblem(value: unknown): string | undefined {
  const found = findProblem(value, 0);
  if (!found) return undefined;
  const path = found.problem === tooDeep ? found.path.slice(-1) : found.path.reverse();
  return `${show(path)} ${found.problem}`;
}

interface Found {
  /** Keys from the innermost outward; collected only once a problem is found. */
  path: string[];
  problem: string;
}

function findProblem(value: unknown, depth: number): Found | undefined {
  if (typeof value === 'string') return textProblem(value);
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { path: [], problem: tooLarge };
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= maxDepth) return { path: [], problem: tooDeep };
  const isArray = Array.isArray(value);
  for (const name of Object.keys(value)) {
    const found =
      (isArray ? undefined : textProblem(name)) ?? findProblem((value as Record<string, unknown>)[name], depth + 1);
    if (!found) continue;
    found.path.push(name);
    return found;
  }
  return undefined;
}

function textProblem(text: string): Found | undefined {
  if (text.includes('\0')) return { path: [], problem: 'must not contain the character U+0000' };
  if (!text.isWellFormed()) return { path: [], problem: 'must be Unicode text without unpaired surrogates' };
  return undefined;
}

/** JSON-escaped, since its keys come from the request. */
function show(path: readonly string[]): string {
  const text = JSON.stringify(path.join('.')).slice(1, -1);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
