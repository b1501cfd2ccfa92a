/** System fields: set by the platform in every row. */
export const systemFields: ReadonlySet<string> = new Set([
  'id',
  'createdAt',
  'updatedAt',
  'computed',
  'stale',
  'similarity',
]);

/** Letters, digits, underscores, hyphens and spaces. Excludes characters with a meaning in a path or a filter. */
const columnName = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_ -]{0,28}[\p{L}\p{M}\p{N}_-])?$/u;

/** Validation: the problem as a predicate without a subject, or undefined. */
export function columnNameProblem(name: string): string | undefined {
  if (systemFields.has(name)) return 'is the name of a system field, which a column may not have';
  if (isEveryObjects(name)) return 'is a reserved name';
  if (columnName.test(name)) return undefined;
  return 'must be 1 to 30 letters, digits, underscores, hyphens or spaces, and begin with a letter, digit or underscore';
}

/** Names of properties that every JavaScript object has, such as `constructor`. */
export function isEveryObjects(name: string): boolean {
  return name in Object.prototype;
}

export function show(name: string): string {
  const text = JSON.stringify(name).slice(1, -1);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
