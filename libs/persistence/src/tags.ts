import type { TagQuery } from '@parley/contracts/query-fields';

/** SQL condition for rows whose `jsonb` tags match the filter; appends to `values`. */
export function tagConditions(column: string, filter: TagQuery | undefined, values: unknown[]): string {
  const conditions = Object.entries(filter ?? {}).flatMap(([name, { in: accepted, notIn }]) => {
    const tag = `${column} ->> $${values.push(name)}`;
    return [
      ...(accepted.length > 0 ? [`${tag} = ANY($${values.push(accepted)}::text[])`] : []),
      // Rows without the tag pass an exclusion.
      ...(notIn.length > 0 ? [`coalesce(${tag} <> ALL($${values.push(notIn)}::text[]), true)`] : []),
    ];
  });
  return conditions.length > 0 ? conditions.map((condition) => `(${condition})`).join(' AND ') : 'true';
}

/** SQL that merges a change into a `jsonb` object and removes the keys that are `null` in the change. */
export function mergedJson(column: string, change: string): string {
  return `(${column} || ${change}::jsonb) - ARRAY(SELECT key FROM jsonb_each(${change}::jsonb) WHERE value = 'null')`;
}
