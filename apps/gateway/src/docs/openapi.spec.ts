import Ajv, { type AnySchema } from 'ajv';
import addFormats from 'ajv-formats';
import { getMetadataStorage } from 'class-validator';
import { chatUser, chatVisitor } from '@parley/contracts/access';
import { allOperations } from '@parley/contracts/contracts';
import { operation } from '@parley/contracts/operation';
import { openApiDocument } from './openapi';

interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, AnySchema> };
}
interface Described {
  operationId: string;
  parameters: { name: string; in: string; required: boolean; schema: AnySchema }[];
  requestBody?: { content: { 'application/json': { schema: { $ref: string } } } };
  responses: Record<string, unknown>;
  security?: unknown[];
}

const document = openApiDocument(allOperations) as unknown as Document;
const described = Object.values(document.paths).flatMap((path) => Object.values(path));
const publicOnes = allOperations.filter(({ access }) => !['operator', 'service'].includes(access.actor));

const ajv = new Ajv({ strict: true, allErrors: true });
addFormats(ajv);
ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'paths', 'components']);
ajv.addSchema(document, 'api');

function validatorOf(name: string) {
  return ajv.compile({ $ref: `api#/components/schemas/${name}` });
}

describe('the OpenAPI document', () => {
  it('documents every public operation at its route, and no other', () => {
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );

    expect(routes.sort()).toEqual(publicOnes.map(({ route }) => route!).sort());
    expect(described.map(({ operationId }) => operationId).sort()).toEqual(
      publicOnes.map(({ subject }) => subject).sort(),
    );
  });

  it('excludes operations of operators and services from the OpenAPI document', () => {
    const text = JSON.stringify(document);

    expect(text).not.toMatch(/\/operator\//i);
    expect(Object.keys(document.components.schemas)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/Identif|Identity|DeadLetter|CreateAccount|Leftovers/)]),
    );
  });

  it('documents a body schema for every operation with a body, also if all its fields are inherited', () => {
    const reading = publicOnes.filter(({ route, input }) => {
      const fields = getMetadataStorage().getTargetValidationMetadatas(input, '', false, false);
      return !/^(GET|DELETE) /.test(route!) && fields.length > 0;
    });

    const shown = described.filter(({ requestBody }) => requestBody).map(({ operationId }) => operationId);
    expect(shown.sort()).toEqual(reading.map(({ subject }) => subject).sort());
  });

  it('marks text responses, and operations without a token, in the OpenAPI document', () => {
    const { responses, security } = document.paths['/v1/admin/bots/{id}/versions/{versionId}/code']!['get']!;

    expect(responses['200']).toMatchObject({
      content: { 'text/javascript; charset=utf-8': { schema: { type: 'string' } } },
    });
    expect(security).toEqual([]);
    expect(document.paths['/v1/admin/bots']!['get']!.security).toBeUndefined();
  });

  it('names the key that operations of end users require', () => {
    class Nothing {}
    const declared = { summary: 'x', input: Nothing, output: Nothing };
    const { paths } = openApiDocument([
      operation({ ...declared, subject: 'a', route: 'GET /user', access: chatUser }),
      operation({ ...declared, subject: 'b', route: 'GET /visitor', access: chatVisitor }),
    ]) as unknown as Document;

    expect(paths['/user']!['get']!.security).toEqual([{ userKey: [] }]);
    expect(paths['/visitor']!['get']!.security).toEqual([]);
  });

  it('contains a schema for every reference of the OpenAPI document', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name!,
    );

    expect(references.length).toBeGreaterThan(50);
    expect(new Set(references)).toEqual(new Set(Object.keys(document.components.schemas)));
  });

  it.each(Object.keys(document.components.schemas))('contains a schema %s that compiles', (name) => {
    expect(() => validatorOf(name)).not.toThrow();
  });

  it.each(
    described.flatMap(({ operationId, parameters }) =>
      parameters.map(({ name, schema }) => [operationId, name, schema] as const),
    ),
  )('contains for %s a parameter %s whose schema compiles', (_operation, _name, schema) => {
    expect(() => ajv.compile(schema)).not.toThrow();
  });

  it('documents a parameter for each name in a path, and none twice', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { parameters } of Object.values(methods)) {
        const inPath = parameters.filter((parameter) => parameter.in === 'path');
        expect(inPath.map(({ name }) => name)).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
        expect(inPath.every(({ required }) => required)).toBe(true);
        expect(new Set(parameters.map(({ name }) => name)).size).toBe(parameters.length);
      }
    }
  });

  it('documents the headers that an operation requires', () => {
    const headersOf = (id: string) =>
      described
        .find(({ operationId }) => operationId === id)!
        .parameters.filter((parameter) => parameter.in === 'header')
        .map(({ name, required }) => (required ? name : `${name}?`));

    expect(headersOf('files.get')).toEqual(['x-bot-id']);
    expect(headersOf('admin.bots.list')).toEqual(['x-workspace-id?']);
    expect(headersOf('admin.workspaces.list')).toEqual([]);
  });

  it('documents the optional header Idempotency-Key on idempotent operations only', () => {
    const takers = described.filter(({ parameters }) => parameters.some(({ name }) => name === 'idempotency-key'));

    expect(takers.map(({ operationId }) => operationId).sort()).toEqual(
      publicOnes
        .filter(({ isIdempotent }) => isIdempotent)
        .map(({ subject }) => subject)
        .sort(),
    );
    takers.forEach(({ parameters }) =>
      expect(parameters.find(({ name }) => name === 'idempotency-key')).toMatchObject({
        in: 'header',
        required: false,
      }),
    );
    expect(takers.length).toBeGreaterThan(5);
  });

  it('contains schemas that accept valid input and reject invalid input', () => {
    const createBot = validatorOf('CreateBot');

    expect(
      createBot({
        name: 'x',
        tags: { a: 'b' },
        states: { s: { type: 'user', schema: {} } },
        subscriptions: { events: null },
      }),
    ).toBe(true);
    expect(createBot({ tags: { a: 1 } })).toBe(false);
    expect(createBot({ states: { s: { type: 'x', schema: {} } } })).toBe(false);
    expect(createBot({ medias: [{ url: 'x' }] })).toBe(false);
    expect(createBot({ name: null })).toBe(false);
    expect(validatorOf('UpsertFile')({ key: 'x' })).toBe(false);
    expect(validatorOf('Error')({ id: 'x', code: 404, type: 'ResourceNotFound', message: 'x' })).toBe(true);
  });

  it('gives each class a schema with a unique name', () => {
    const targets = getMetadataStorage() as unknown as {
      validationMetadatas: Map<unknown, { target: { name: string } }[]>;
    };
    const classes = new Set([...targets.validationMetadatas.values()].flat().map(({ target }) => target));

    const names = [...classes].map(({ name }) => name);

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
