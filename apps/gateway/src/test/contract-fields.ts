import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { allOperations } from '@parley/contracts/contracts';
import { componentSchemas, type JsonSchema, schemaNameOf } from '@parley/contracts/json-schema';
import type { Class } from '@parley/contracts/operation';

export interface Rule {
  name: string;
  each: boolean;
  constraints: unknown[];
  context: { type?: Class<object>; maxItems?: number; minItems?: number; maxEntries?: number; maxLength?: number };
  message?: string;
}

export interface Field {
  id: string;
  name: string;
  rules: Rule[];
  isRequired: boolean;
  isNullable: boolean;
}

/** JSON schemas of all contract classes. `allOperations` is used so that the contracts are loaded. */
const schemas = allOperations.length > 0 ? componentSchemas() : {};
const known = new Map<Class<object>, Field[]>();

export function fieldsOf(type: Class<object>): Field[] {
  const fields = known.get(type) ?? readFields(type);
  known.set(type, fields);
  return fields;
}

function readFields(type: Class<object>): Field[] {
  const all = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const properties = (schemaOf(type)['properties'] ?? {}) as Record<string, JsonSchema>;
  return [...new Set(all.map(({ propertyName }) => propertyName))].map((name) => {
    const own = all.filter(({ propertyName }) => propertyName === name);
    const isCondition = ({ type }: { type: string }) => type === ValidationTypes.CONDITIONAL_VALIDATION;
    const isDemanded = (value: unknown) =>
      own
        .filter(isCondition)
        .every(({ constraints }) => (constraints[0] as (o: object, v: unknown) => boolean)({}, value));
    return {
      id: `${type.name}.${name}`,
      name,
      rules: own
        .filter((each) => !isCondition(each) && each.type !== ValidationTypes.NESTED_VALIDATION)
        .map((each) => ({
          name: each.name ?? each.type,
          each: each.each,
          constraints: each.constraints,
          context: (each.context ?? {}) as Rule['context'],
          message: typeof each.message === 'string' ? each.message.replace(/^\S+ /, '') : undefined,
        })),
      isRequired: isDemanded(undefined),
      isNullable: properties[name]?.['nullable'] === true,
    };
  });
}

/** True when objects of the class keep undeclared fields. */
export function isOpen(type: Class<object>): boolean {
  return schemaOf(type)['additionalProperties'] === true;
}

function schemaOf(type: Class<object>): JsonSchema {
  return schemas[schemaNameOf(type, schemas) ?? ''] ?? {};
}
