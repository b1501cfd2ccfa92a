import { schemaProblem } from './schema-problem';

describe('a JSON schema', () => {
  it.each([
    [{}],
    [{ type: 'object', properties: { a: { type: 'string', 'x-zui': { index: 1 } } }, additionalProperties: false }],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: ['string', 'null'] }],
    [{ $ref: '#/definitions/a', definitions: { a: { enum: [1] } } }],
    [{ $ref: 'item' }],
    [{ format: 'something-else', nullable: true }],
    [{ enum: [1, 1] }],
  ])('accepts the JSON schema %j', (schema) => {
    expect(schemaProblem(schema)).toBeUndefined();
  });

  it.each([
    [{ type: 'text' }, /type must be/],
    [{ type: 'object', properties: { a: { type: 7 } } }, /\/properties\/a\/type/],
    [{ required: 'a' }, /\/required must be array/],
    [{ minimum: 'low' }, /\/minimum must be number/],
    [{ pattern: '(' }, /\/pattern must match format "regex"/],
  ])('rejects %j as a JSON schema', (schema, problem) => {
    expect(schemaProblem(schema)).toMatch(/^is not a valid JSON schema: /);
    expect(schemaProblem(schema)).toMatch(problem);
  });
});
