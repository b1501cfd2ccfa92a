import { fieldSources } from '@parley/contracts/query-fields';
import { componentSchemas, type JsonSchema, schemaNameOf } from '@parley/contracts/json-schema';
import type { Operation } from '@parley/contracts/operation';
import { errorCodes } from '@parley/contracts/errors';
import { idempotencyHeader, maxKeyLength } from '../forwarding/idempotency-key';

/** Optional, because a token of an account with one workspace implies the workspace. */
const workspaceHeader = { name: 'x-workspace-id', in: 'header', schema: { type: 'string' }, required: false };
const botHeader = { name: 'x-bot-id', in: 'header', schema: { type: 'string' }, required: true };
const contextHeaders: Record<string, JsonSchema[]> = { workspace: [workspaceHeader], bot: [botHeader] };

const otherSecurity: Record<string, JsonSchema[]> = {
  anyone: [],
  'chat-visitor': [],
  'chat-user': [{ userKey: [] }],
};

export function openApiDocument(operations: Operation[]): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  const schemas: Record<string, JsonSchema> = { ...componentSchemas(), Error: errorSchema };
  for (const operation of operations) {
    if (!operation.route || operation.access.actor === 'operator') continue;
    const [method, path] = operation.route.split(' ') as [string, string];
    (paths[path] ??= {})[method.toLowerCase()] = describe(operation, method, schemas);
  }
  return {
    openapi: '3.0.3',
    info: { title: 'Parley', version: '1', description: 'HTTP API of this Parley installation.' },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        userKey: { type: 'apiKey', in: 'header', name: 'x-user-key' },
      },
      schemas: reachable(paths, schemas),
    },
  };
}

function reachable(root: unknown, schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const found = new Set<string>();
  const visit = (value: unknown) => {
    for (const [, name] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name!)) continue;
      found.add(name!);
      visit(schemas[name!] ?? {});
    }
  };
  visit(root);
  return Object.fromEntries([...found].sort().flatMap((name) => (schemas[name] ? [[name, schemas[name]]] : [])));
}

function describe(operation: Operation, method: string, schemas: Record<string, JsonSchema>): JsonSchema {
  const { subject, summary, input, output, status, access, contentType, isIdempotent } = operation;
  const parameters = [
    ...fieldSources(input).map(({ parameter, in: place, schema, required }) => ({
      name: parameter,
      in: place,
      schema,
      required: required || place === 'path',
    })),
    ...(contextHeaders[access.actor] ?? []),
    ...(isIdempotent ? [idempotencyKey] : []),
  ];
  const body = method === 'GET' || method === 'DELETE' ? undefined : schemaNameOf(input, schemas);
  const answered = schemaNameOf(output, schemas);
  const answer = json(answered ? { $ref: reference(answered) } : { type: 'object' });
  return {
    operationId: subject,
    tags: [subject.split('.').slice(0, -1).join('.')],
    summary,
    ...(access.actor in otherSecurity ? { security: otherSecurity[access.actor] } : {}),
    parameters,
    ...(body ? { requestBody: { required: true, content: json({ $ref: reference(body) }) } } : {}),
    responses: {
      [status]: {
        description: 'Success',
        content: contentType ? { [contentType]: { schema: { type: 'string' } } } : answer,
      },
      default: { description: 'Any failure', content: json({ $ref: reference('Error') }) },
    },
  };
}

const idempotencyKey: JsonSchema = {
  name: idempotencyHeader,
  in: 'header',
  description:
    'Makes a retry safe: a request repeated with the same key within 24 hours takes effect once. ' +
    'A repeat gets the same answer, with the header `Idempotent-Replayed: true`.',
  schema: { type: 'string', minLength: 1, maxLength: maxKeyLength },
  required: false,
};

const errorSchema: JsonSchema = {
  type: 'object',
  required: ['id', 'code', 'type', 'message'],
  properties: {
    id: { type: 'string' },
    code: { type: 'integer' },
    type: { type: 'string', enum: Object.keys(errorCodes) },
    message: { type: 'string' },
    metadata: { type: 'object' },
  },
};

function json(schema: JsonSchema): JsonSchema {
  return { 'application/json': { schema } };
}

function reference(name: string): string {
  return `#/components/schemas/${name}`;
}
