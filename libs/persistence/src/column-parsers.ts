import { TypeOverrides, types } from 'pg';
import { parseTimestamp, toIsoText } from './timestamps';

const { JSON: json, JSONB: jsonb, TIMESTAMPTZ } = types.builtins;

/**
 * How columns are read: as values, or, for rows that are only answered, with times as text in ISO 8601, or with times and
 * JSON as text.
 */
export type ColumnReading = 'values' | 'timeTexts' | 'texts';

export const columnParsers: Record<ColumnReading, TypeOverrides> = {
  values: new TypeOverrides(),
  timeTexts: new TypeOverrides(),
  texts: new TypeOverrides(),
};
columnParsers.values.setTypeParser(TIMESTAMPTZ, parseTimestamp);
columnParsers.timeTexts.setTypeParser(TIMESTAMPTZ, toIsoText);
columnParsers.texts.setTypeParser(TIMESTAMPTZ, toIsoText);
for (const type of [json, jsonb]) columnParsers.texts.setTypeParser(type, (text) => text);
