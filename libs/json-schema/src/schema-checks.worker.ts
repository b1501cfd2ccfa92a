import Ajv, { type ErrorObject } from 'ajv';
import { ajvOptions } from './schema-problem';

export interface SchemaCheck {
  schema: Record<string, unknown>;
  value: unknown;
  /** What the value is called in the answer. */
  path: string;
}

/** What keeps the first value that does not fit its schema from it, as a sentence; undefined when all fit. */
export default function firstProblem(checks: SchemaCheck[]): string | undefined {
  for (const check of checks) {
    const problem = problemOf(check);
    if (problem) return problem;
  }
  return undefined;
}

function problemOf({ schema, value, path }: SchemaCheck): string | undefined {
  // Written for another draft, it is still read as draft 7.
  const { $schema: _draft, ...rest } = schema;
  try {
    const fits = new Ajv({ ...ajvOptions, validateSchema: false }).compile(rest);
    return fits(value) ? undefined : describe(path, fits.errors?.[0]);
  } catch (error) {
    return `${path} cannot be checked, since its schema cannot be read: ${(error as Error).message.slice(0, 200)}`;
  }
}

function describe(path: string, error: ErrorObject | undefined): string {
  const names = (error?.instancePath ?? '').split('/').slice(1);
  const inside = names.map((name) => `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`).join('');
  const { allowedValues, additionalProperty } = (error?.params ?? {}) as Record<string, unknown>;
  const right =
    allowedValues !== undefined
      ? `: ${JSON.stringify(allowedValues)}`
      : additionalProperty !== undefined
        ? `: ${JSON.stringify(additionalProperty)}`
        : '';
  return `${path}${inside} ${error?.message ?? 'does not fit its schema'}${right}`.slice(0, 500);
}
