import Ajv, { type ErrorObject } from 'ajv';
import { LRUCache } from 'lru-cache';
import { ajvOptions } from './schema-problem';

export interface SchemaCheck {
  schema: Record<string, unknown>;
  value: unknown;
  /** What the value is called in the answer. */
  path: string;
}

/** What keeps a value that is called `path` from fitting a schema, as a sentence; undefined when it fits. */
type Check = (value: unknown, path: string) => string | undefined;

/** Schemas as checks. Each is compiled once for as long as it is among the last used, whose text is this long together. */
export class CompiledSchemas {
  private readonly checks: LRUCache<string, Check>;

  constructor(maxCharacters: number) {
    this.checks = new LRUCache({ maxSize: maxCharacters, sizeCalculation: (_check, text) => text.length });
  }

  get(schema: Record<string, unknown>): Check {
    const text = JSON.stringify(schema);
    const known = this.checks.get(text);
    if (known) return known;
    const check = compile(schema);
    this.checks.set(text, check);
    return check;
  }
}

/** What keeps the first value that does not fit its schema from it, as a sentence; undefined when all fit. */
export function firstProblem(checks: SchemaCheck[], schemas: CompiledSchemas): string | undefined {
  for (const { schema, value, path } of checks) {
    const problem = schemas.get(schema)(value, path);
    if (problem) return problem;
  }
  return undefined;
}

function compile({ $schema: _draft, ...schema }: Record<string, unknown>): Check {
  // Written for another draft, it is still read as draft 7.
  try {
    const fits = new Ajv({ ...ajvOptions, validateSchema: false, ownProperties: true }).compile(schema);
    return (value, path) => (fits(value) ? undefined : describe(path, fits.errors?.[0]));
  } catch (error) {
    const problem = `cannot be checked, since its schema cannot be read: ${(error as Error).message.slice(0, 200)}`;
    return (_value, path) => `${path} ${problem}`;
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
