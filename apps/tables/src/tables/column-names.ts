/** Set by the platform in every row. */
export const systemFields: ReadonlySet<string> = new Set([
  'id',
  'createdAt',
  'updatedAt',
  'computed',
  'stale',
  'similarity',
]);

/** Letters, digits, underscores, hyphens and spaces: nothing that means something in a path or a filter. */
const columnName = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_ -]{0,28}[\p{L}\p{M}\p{N}_-])?$/u;

/** What keeps a column from having this name, as a sentence without its subject; undefined when nothing does. */
export function columnNameProblem(name: string): string | undefined {
  if (systemFields.has(name)) return 'is the name of a system field, which a column may not have';
  if (isEveryObjects(name)) return 'is a reserved name';
  if (columnName.test(name)) return undefined;
  return 'must be 1 to 30 letters, digits, underscores, hyphens or spaces, and begin with a letter, digit or underscore';
}

/** Something that every JavaScript object has, such as `constructor`. */
export function isEveryObjects(name: string): boolean {
  return name in Object.prototype;
}

/** A name that came from outside, as messages show it. */
export function show(name: string): string {
  const text = JSON.stringify(name).slice(1, -1);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
