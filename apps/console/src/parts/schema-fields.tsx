import { Checkbox, JsonInput, NumberInput, PasswordInput, Select, Text, TextInput } from '@mantine/core';
import { textIn } from './form-text';

type Value = Record<string, unknown>;

interface Property {
  type?: string;
  title?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
  'x-zui'?: { title?: string; secret?: boolean };
}

/** JSON schema of an object. */
export interface ObjectSchema {
  properties?: Record<string, Property>;
  required?: string[];
}

type Kind = 'choice' | 'text' | 'secret' | 'number' | 'boolean' | 'json';

/** Fields of a form for the properties of a schema. Objects and lists are JSON. */
export function SchemaFields({ schema, value }: { schema: ObjectSchema; value: Value }) {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) return <Text size="sm">There is nothing to configure.</Text>;
  return properties.map(([name, property]) => (
    <SchemaField
      key={name}
      name={name}
      property={property}
      value={value[name] ?? property.default}
      isRequired={schema.required?.includes(name) ?? false}
    />
  ));
}

interface FieldProps {
  name: string;
  property: Property;
  value: unknown;
  isRequired: boolean;
}

function SchemaField({ name, property, value, isRequired }: FieldProps) {
  const label = property.title ?? property['x-zui']?.title ?? name;
  const shared = { name: fieldName(name), label, description: property.description, required: isRequired };
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  switch (kindOf(property)) {
    case 'choice':
      return (
        <Select
          {...shared}
          data={(property.enum ?? []).map(String)}
          defaultValue={text || null}
          clearable={!isRequired}
        />
      );
    case 'secret':
      return <PasswordInput {...shared} defaultValue={text} autoComplete="off" />;
    case 'number':
      return <NumberInput {...shared} defaultValue={typeof value === 'number' ? value : ''} />;
    case 'boolean':
      return <Checkbox {...shared} required={false} defaultChecked={value === true} />;
    case 'json':
      return (
        <JsonInput
          {...shared}
          defaultValue={value === undefined ? '' : JSON.stringify(value, null, 2)}
          rows={3}
          validationError="This is not JSON."
        />
      );
    case 'text':
      return <TextInput {...shared} defaultValue={text} autoComplete="off" />;
  }
}

/** Values of the fields; empty ones are absent. Throws an error that names a field which is not JSON. */
export function valueIn(schema: ObjectSchema, values: FormData): Value {
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, property]): [string, unknown][] => {
    const text = textIn(values, fieldName(name));
    const kind = kindOf(property);
    if (kind === 'boolean') return [[name, values.has(fieldName(name))]];
    if (text === '') return [];
    if (kind === 'number') return [[name, Number(text)]];
    return [[name, kind === 'json' ? jsonIn(name, text) : text]];
  });
  return Object.fromEntries(entries);
}

function jsonIn(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name} must be JSON, such as ["one", "two"] or {"key": "value"}.`);
  }
}

function kindOf(property: Property): Kind {
  if (property.enum && property.type === 'string') return 'choice';
  if (property.type === 'string') return property['x-zui']?.secret ? 'secret' : 'text';
  if (property.type === 'number' || property.type === 'integer') return 'number';
  return property.type === 'boolean' ? 'boolean' : 'json';
}

function fieldName(name: string): string {
  return `property ${name}`;
}
