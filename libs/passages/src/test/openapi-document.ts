import { readFileSync } from 'node:fs';
import Ajv, { type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { LoopbackRequest } from '@parley/testing/loopback-server';

interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { content: Record<string, unknown> };
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
}

export class OpenApiDocument {
  private readonly document: Document;
  private readonly ajv = new Ajv({ strict: false, logger: false, allErrors: true });

  constructor(path: string) {
    this.document = strictly(JSON.parse(readFileSync(path, 'utf8'))) as Document;
    addFormats(this.ajv);
    this.ajv.addSchema(this.document, 'document');
  }

  complaints(request: LoopbackRequest): string[] {
    const method = request.method.toLowerCase();
    const [path] = Object.keys(this.document.paths)
      .filter((template) => toPattern(template).test(request.path))
      .sort((a, b) => parametersIn(a) - parametersIn(b));
    const operation = path && this.document.paths[path]?.[method];
    if (!operation) return [`there is no ${request.method} ${request.path}`];
    return [...this.queryComplaints(operation, request.query), ...this.bodyComplaints(path, method, request.body)];
  }

  private queryComplaints({ parameters = [] }: Operation, query: Record<string, string>): string[] {
    const known = parameters.filter((parameter) => parameter.in === 'query');
    const missing = known.filter(({ name, required }) => required && !(name in query)).map(({ name }) => name);
    const unknown = Object.keys(query).filter((name) => !known.some((parameter) => parameter.name === name));
    return [...missing.map((name) => `query needs ${name}`), ...unknown.map((name) => `query has unknown ${name}`)];
  }

  private bodyComplaints(path: string, method: string, body: unknown): string[] {
    const content = this.document.paths[path]![method]!.requestBody?.content;
    if (!content) return body === undefined ? [] : ['a body where none is known'];
    const pointer = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema'];
    const validate = this.validator(pointer);
    return validate(body) ? [] : [`body: ${this.ajv.errorsText(validate.errors)}`];
  }

  private validator(pointer: string[]): ValidateFunction {
    const fragment = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
    return this.ajv.compile({ $ref: `document#/${fragment.join('/')}` });
  }
}

/**
 * Converts OpenAPI 3.0 schemas to JSON Schema: `nullable` without a type becomes the type null, and objects refuse
 * unknown properties.
 */
function strictly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strictly);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, strictly(entry)]));
  if (copy.nullable === true && copy.type === undefined) return { type: 'null' };
  if (copy.type === 'object' && copy.properties) return { additionalProperties: false, ...copy };
  return copy;
}

/** If two path templates match, the template with fewer parameters applies. */
function parametersIn(template: string): number {
  return template.split('{').length - 1;
}

function toPattern(template: string): RegExp {
  return new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`);
}
