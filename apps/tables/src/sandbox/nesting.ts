/** Nesting limit for objects and arrays in the value of a cell, equal to the limit for values in filters. */
export const maxLevels = 20;

/** Recursion stops at the limit, so that no value exhausts the stack. */
export function isNestedTooDeeply(value: unknown, levels = maxLevels): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isNestedTooDeeply(inner, levels - 1));
}
