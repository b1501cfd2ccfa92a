import { Cognitive, CognitiveBeta, type CognitiveRequest } from '@botpress/cognitive';
import { Zai } from '@botpress/zai';
import { z } from '@bpinternal/zui';
import { execute, Exit, Tool } from 'llmz';
import { callingBot } from './calling-bot';
import { type CognitiveLike, cognitiveMethods } from './cognitive-methods';
import { zaiMethods } from './zai-methods';

const person = z.object({ name: z.string(), age: z.number() });

export default callingBot({
  ...cognitiveMethods(
    (access) => new CognitiveBeta(access) as unknown as CognitiveLike<CognitiveRequest>,
    (options) => new Cognitive(options),
  ),
  ...zaiMethods(
    (options) => new Zai(options),
    (zai, input) => (zai as unknown as Zai).extract(input, person),
    (client) => new Cognitive({ client, __experimental_beta: true }),
  ),
  llmz: async ({ client }) => {
    const add = new Tool({
      name: 'add',
      description: 'Adds two numbers',
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.number(),
      handler: ({ a, b }) => Promise.resolve(a + b),
    });
    const done = new Exit({ name: 'done', description: 'The sum', schema: z.object({ sum: z.number() }) });
    const result = await execute({
      client: new Cognitive({ client, __experimental_beta: true }),
      instructions: 'Add 1 and 2, and mark the sum with ★',
      tools: [add],
      exits: [done],
      model: 'best',
    });
    if (result.isError()) throw result.error as Error;
    return result.is(done)
      ? { output: result.output, iterations: result.iterations.length }
      : { status: result.status };
  },
});
