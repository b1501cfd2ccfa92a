import 'reflect-metadata';
// The storage has no public export; class-validator-jsonschema needs it to find the classes of nested fields.
import { defaultMetadataStorage } from 'class-transformer/cjs/storage';
import { validationMetadatasToSchemas } from 'class-validator-jsonschema';
import type { Class } from './operation';

export type JsonSchema = Record<string, unknown>;

/** JSON Schemas of every class of the contracts that has fields, by class name, as OpenAPI components. */
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

/** By what name the schemas have a class: that of its parent when it adds no field that they know. Undefined without any. */
export function schemaNameOf(type: Class<unknown>, schemas: Record<string, JsonSchema>): string | undefined {
  for (let each: unknown = type; typeof each === 'function'; each = Object.getPrototypeOf(each)) {
    if (Object.hasOwn(schemas, each.name)) return each.name;
  }
  return undefined;
}
