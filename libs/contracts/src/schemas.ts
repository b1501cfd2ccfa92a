/** Schema of an object; all properties are required except the optional ones. */
export function object(properties: Record<string, object>, optional: string[] = []) {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
  };
}

type Schema = Record<string, unknown>;

/**
 * Configuration schema as answers show it. An empty schema becomes that of any object, since clients generate an object
 * type from it.
 */
export function shownConfigurationSchema(schema: Schema): Schema {
  return Object.keys(schema).length > 0 ? schema : { type: 'object', properties: {} };
}

export function list(items: object) {
  return { type: 'array', items };
}
