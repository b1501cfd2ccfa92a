/** An object that needs all of these properties but the optional ones. */
export function object(properties: Record<string, object>, optional: string[] = []) {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
  };
}

type Schema = Record<string, unknown>;

/**
 * Schema of a configuration as answers show it. A configuration without a schema has the one of any object: clients
 * generate the type of an object from it.
 */
export function shownConfigurationSchema(schema: Schema): Schema {
  return Object.keys(schema).length > 0 ? schema : { type: 'object', properties: {} };
}

export function list(items: object) {
  return { type: 'array', items };
}
