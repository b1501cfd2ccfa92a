/** Text of a field; empty for one that is absent. */
export function textIn(values: FormData, name: string): string {
  const value = values.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
