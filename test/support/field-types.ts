/** Type names as in the API reference. */
const types = {
  string: (value: unknown) => typeof value === 'string',
  'string or null': (value: unknown) => value === null || typeof value === 'string',
  'date-time': (value: unknown) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(value)),
  boolean: (value: unknown) => typeof value === 'boolean',
  number: (value: unknown) => typeof value === 'number',
  integer: (value: unknown) => Number.isInteger(value),
  object: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'string[]': (value: unknown) => Array.isArray(value) && value.every((entry) => typeof entry === 'string'),
  'object[]': (value: unknown) => Array.isArray(value) && value.every((entry) => types.object(entry)),
  'unapproved, pending, approved or rejected': (value: unknown) =>
    ['unapproved', 'pending', 'approved', 'rejected'].includes(value as string),
};

/** Names of fields by type; dots address nested fields: `{ string: 'id owner.id' }`. */
export type Fields = Partial<Record<keyof typeof types, string>>;

export function wrong(resource: unknown, ...fields: Fields[]): string[] {
  const all = fields.flatMap((some) => Object.entries(some)) as [keyof typeof types, string][];
  return all.flatMap(([type, names]) =>
    names
      .split(' ')
      .filter((path) => !types[type](at(resource, path)))
      .map((path) => `${path} is ${JSON.stringify(at(resource, path))} and not of type ${type}`),
  );
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
}
