import { Cognitive, CognitiveBeta, type CognitiveRequest } from 'botpress-cognitive-0.5';
import { Zai } from 'botpress-zai-2.6';
import { z } from 'bpinternal-zui-2';
import { callingBot } from './calling-bot';
import { type CognitiveLike, cognitiveMethods } from './cognitive-methods';
import { zaiMethods } from './zai-methods';

const person = z.object({ name: z.string(), age: z.number() });

export default callingBot({
  ...cognitiveMethods(
    (access) => new CognitiveBeta(access) as unknown as CognitiveLike<CognitiveRequest>,
    (options) => new Cognitive(options as never),
  ),
  ...zaiMethods(
    (options) => new Zai(options),
    (zai, input) => (zai as unknown as Zai).extract(input, person as never),
    (client) => new Cognitive({ client, __experimental_beta: true }),
  ),
});
