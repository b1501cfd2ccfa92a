import type { TagQuery } from '@parley/contracts/query-fields';

/** SQL that holds for rows whose `jsonb` column of tags fits the filter; its values are appended. */
export function tagConditions(column: string, filter: TagQuery | undefined, values: unknown[]): string {
  const conditions = Object.entries(filter ?? {}).flatMap(([name, { in: wanted, notIn }]) => {
    const tag = `${column} ->> $${values.push(name)}`;
    return [
      ...(wanted.length > 0 ? [`${tag} = ANY($${values.push(wanted)}::text[])`] : []),
      // A row without the tag does not have the excluded value.
      ...(notIn.length > 0 ? [`coalesce(${tag} <> ALL($${values.push(notIn)}::text[]), true)`] : []),
    ];
  });
  return conditions.length > 0 ? conditions.map((condition) => `(${condition})`).join(' AND ') : 'true';
}

/** SQL of a `jsonb` object with the entries of another, without those that are `null` there. */
export function mergedJson(column: string, change: string): string {
  return `(${column} || ${change}::jsonb) - ARRAY(SELECT key FROM jsonb_each(${change}::jsonb) WHERE value = 'null')`;
}
