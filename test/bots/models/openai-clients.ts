import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embed, generateText, type ModelMessage, Output, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { type Calling, callingBot, collected } from './calling-bot';

const openai = ({ access }: Calling) =>
  new OpenAI({ baseURL: `${access.apiUrl}/v1/ai`, apiKey: access.token, maxRetries: 1 });
const vercel = ({ access }: Calling) =>
  createOpenAICompatible({
    name: 'parley',
    baseURL: `${access.apiUrl}/v1/ai`,
    apiKey: access.token,
    includeUsage: true,
  });
type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

const add = tool({
  description: 'Adds two numbers',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

export default callingBot({
  openaiCreate: (calling) => openai(calling).chat.completions.create(calling.input['request'] as Body),
  openaiStream: async (calling) => {
    const { request, abortAfter } = calling.input as { request: Body; abortAfter?: number };
    const stream = await openai(calling).chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const { parts, failure } = await collected(stream, { abort: stream.controller, abortAfter });
    const output = parts.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    return { output, failure, usage: parts.at(-1)?.usage };
  },
  openaiTools: async (calling) => {
    const runner = openai(calling).chat.completions.runTools({
      ...(calling.input['request'] as object),
      model: 'auto',
      messages: [{ role: 'user', content: 'add 1 and 2' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'add',
            description: 'Adds two numbers',
            parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
            parse: JSON.parse as (text: string) => { a: number; b: number },
            function: ({ a, b }: { a: number; b: number }) => String(a + b),
          },
        },
      ],
    });
    return runner.finalContent();
  },
  openaiModels: async (calling) => (await openai(calling).models.list()).data.map(({ id }) => id),
  openaiEmbed: async (calling) =>
    (await openai(calling).embeddings.create({ model: 'embed-small', input: 'sea', encoding_format: 'float' })).data,
  vercelText: async (calling) => {
    const { messages } = calling.input as { messages: ModelMessage[] };
    const { text, usage } = await generateText({ model: vercel(calling)('auto'), messages, maxRetries: 1 });
    return { text, usage };
  },
  vercelTools: async (calling) => {
    const { text, steps } = await generateText({
      ...{ model: vercel(calling)('auto'), prompt: 'add 1 and 2', tools: { add } },
      stopWhen: stepCountIs(3),
    });
    return { text, results: steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output as number)) };
  },
  vercelObject: async (calling) => {
    const schema = z.object({ name: z.string() });
    const { output } = await generateText({
      ...{ model: vercel(calling)('auto'), prompt: 'a name', output: Output.object({ schema }) },
    });
    return output;
  },
  vercelStream: async (calling) => {
    const abort = new AbortController();
    const { abortAfter } = calling.input as { abortAfter?: number };
    let failure: string | undefined;
    const { textStream } = streamText({
      ...{ model: vercel(calling)('auto'), prompt: 'hi', abortSignal: abort.signal, maxRetries: 0 },
      onError: ({ error }) => void (failure = String(error)),
    });
    const read = await collected(textStream, { abort, abortAfter });
    return { output: read.parts.join(''), failure: read.failure ?? failure };
  },
  vercelEmbed: async (calling) =>
    (await embed({ model: vercel(calling).embeddingModel('embed-small'), value: 'sea' })).embedding,
});
