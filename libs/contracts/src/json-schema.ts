import 'reflect-metadata';
// The storage is not exported; class-validator-jsonschema needs it to resolve the classes of nested fields.
import { defaultMetadataStorage } from 'class-transformer/cjs/storage';
import { validationMetadatasToSchemas } from 'class-validator-jsonschema';
import type { Class } from './operation';

export type JsonSchema = Record<string, unknown>;

/** JSON Schemas of all contract classes with fields, by class name: the components of the OpenAPI document. */
export function componentSchemas(): Record<string, JsonSchema> {
  return validationMetadatasToSchemas({
    classTransformerMetadataStorage: defaultMetadataStorage,
    refPointerPrefix: '#/components/schemas/',
    additionalConverters: {
      checked: {},
      mapOf: {},
      jsonObject: {},
      jsonObjects: {},
      jsonValue: {},
      isObject: {},
      listOf: {},
      isUri: { type: 'string', format: 'uri' },
    },
  }) as Record<string, JsonSchema>;
}

/** Schema name of a class; a class without fields of its own has the schema of its parent. Undefined without any. */
export function schemaNameOf(type: Class<unknown>, schemas: Record<string, JsonSchema>): string | undefined {
  for (let each: unknown = type; typeof each === 'function'; each = Object.getPrototypeOf(each)) {
    if (Object.hasOwn(schemas, each.name)) return each.name;
  }
  return undefined;
}
