import type { Client } from '@botpress/client';
import { type Calling, collected, type Method } from './calling-bot';

interface Options {
  signal?: AbortSignal;
  timeout?: number;
}

/** Part of `CognitiveBeta` that both tested versions have. */
export interface CognitiveLike<Request> {
  generateText(request: Request, options?: Options): Promise<unknown>;
  generateTextStream(request: Request, options?: Options): AsyncIterable<{ output?: string; finished?: boolean }>;
  listModels(): Promise<{ id: string }[]>;
  on(event: 'response', listener: () => void): unknown;
}

interface LegacyLike {
  generateContent(input: never): Promise<{ output: unknown; meta: unknown }>;
  getModelDetails(model: string): Promise<unknown>;
}

/** Methods of `@botpress/cognitive`: of its client of `/v2/cognitive`, and of the older one with and without it. */
export function cognitiveMethods<Request>(
  open: (access: Calling['access']) => CognitiveLike<Request>,
  openOlder: (options: { client: Client; __experimental_beta?: boolean }) => LegacyLike,
): Record<string, Method> {
  return {
    generateText: ({ access, input }) => {
      const { request, timeout } = input as { request: Request; timeout?: number };
      const signal = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
      return open(access).generateText(request, { signal });
    },
    generateTextStream: async ({ access, input }) => {
      const client = open(access);
      let responses = 0;
      client.on('response', () => (responses += 1));
      const { request, abortAfter } = input as { request: Request; abortAfter?: number };
      const abort = new AbortController();
      const { parts, failure } = await collected(client.generateTextStream(request, { signal: abort.signal }), {
        ...{ abort, abortAfter },
      });
      return {
        ...{ failure, responses },
        output: parts.map(({ output = '' }) => output).join(''),
        last: parts.at(-1),
      };
    },
    listModels: ({ access }) => open(access).listModels(),
    generateContent: ({ client, input }) =>
      openOlder({ client, __experimental_beta: true }).generateContent(input['request'] as never),
    generateContentOlder: ({ client, input }) => openOlder({ client }).generateContent(input['request'] as never),
    getModelDetails: ({ client, input }) =>
      openOlder({ client, __experimental_beta: true }).getModelDetails(input['model'] as string),
  };
}
