/** An object that needs all of these properties but the optional ones. */
export function object(properties: Record<string, object>, optional: string[] = []) {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
  };
}

export function list(items: object) {
  return { type: 'array', items };
}
