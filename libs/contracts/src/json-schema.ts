import 'reflect-metadata';
// The storage has no public export; class-validator-jsonschema needs it to find the classes of nested fields.
import { defaultMetadataStorage } from 'class-transformer/cjs/storage';
import { validationMetadatasToSchemas } from 'class-validator-jsonschema';

export type JsonSchema = Record<string, unknown>;

/** JSON Schemas of every class of the contracts that has fields, by class name, as OpenAPI components. */
export function componentSchemas(): Record<string, JsonSchema> {
  return validationMetadatasToSchemas({
    classTransformerMetadataStorage: defaultMetadataStorage,
    refPointerPrefix: '#/components/schemas/',
    additionalConverters: { mapOf: {}, jsonObject: {}, jsonObjects: {}, jsonValue: {}, isObject: {}, listOf: {} },
  }) as Record<string, JsonSchema>;
}
