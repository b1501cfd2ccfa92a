/** Levels of objects and arrays that the value of a cell may have, as many as filters take. */
export const maxLevels = 20;

/** Looks no deeper than that, so that no value exhausts the stack. */
export function isNestedTooDeeply(value: unknown, levels = maxLevels): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isNestedTooDeeply(inner, levels - 1));
}
