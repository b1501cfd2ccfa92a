import Ajv, { type ErrorObject } from 'ajv';
import { LRUCache } from 'lru-cache';
import { openSchema } from './open-schema';
import { ajvOptions } from './schema-problem';

export interface SchemaCheck {
  schema: Record<string, unknown>;
  value: unknown;
  path: string;
}

/** Validates a value. Returns the error as a sentence, which begins with `path`, or undefined. */
type Check = (value: unknown, path: string) => string | undefined;

/** LRU cache of compiled schemas, bounded by the characters of their texts. */
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

/** Schemas of other drafts are read as draft 7, and unknown keys are never refused. With `$async`, a check would return a promise. */
function compile({ $schema: _draft, $async: _async, ...schema }: Record<string, unknown>): Check {
  try {
    const fits = new Ajv({ ...ajvOptions, validateSchema: false, ownProperties: true }).compile(openSchema(schema));
    return (value, path) => (fits(value) ? undefined : describe(path, fits.errors?.[0]));
  } catch (error) {
    const problem = `cannot be validated because its schema is invalid: ${(error as Error).message.slice(0, 200)}`;
    return (_value, path) => `${path} ${problem}`;
  }
}

function describe(path: string, error: ErrorObject | undefined): string {
  const names = (error?.instancePath ?? '').split('/').slice(1);
  const inside = names.map((name) => `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`).join('');
  const { allowedValues } = (error?.params ?? {}) as Record<string, unknown>;
  const right = allowedValues === undefined ? '' : `: ${JSON.stringify(allowedValues)}`;
  return `${path}${inside} ${error?.message ?? 'does not fit its schema'}${right}`.slice(0, 500);
}
