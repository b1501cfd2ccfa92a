import { Bot } from 'botpress-sdk-5';
import type { Client } from '@botpress/client';

/** Client of the bot with the key that its process got. */
export interface Calling {
  client: Client;
  /** Options of a client of another package. */
  access: { apiUrl: string; token: string; botId: string };
  input: Record<string, unknown>;
}

export type Method = (calling: Calling) => unknown;

/** Bot whose action `run` calls one of these methods, and answers with its result or its error. */
export function callingBot(methods: Record<string, Method>): Bot {
  return new Bot({
    actions: {
      run: async ({ client, ctx, input }) => {
        const { method, ...rest } = input as { method: string };
        const access = {
          apiUrl: process.env['BP_API_URL']!,
          token: process.env['BP_TOKEN']!,
          botId: ctx.botId,
        };
        try {
          const calling = { client: client as unknown as Client, access, input: rest };
          return { result: await methods[method]!(calling) };
        } catch (error) {
          const { name, message, status, code, type, response } = error as Record<string, never>;
          const body = (response as { data?: { type?: string } } | undefined)?.data;
          return { error: { name, message, status, code, type: type ?? body?.type } };
        }
      },
    },
    plugins: {},
  });
}

/** Elements of a stream, until it ends or fails; the signal aborts after `abortAfter` of them. */
export async function collected<T>(
  stream: AsyncIterable<T>,
  { abort, abortAfter }: { abort?: AbortController; abortAfter?: number } = {},
): Promise<{ parts: T[]; failure?: string }> {
  const parts: T[] = [];
  try {
    for await (const part of stream) {
      parts.push(part);
      if (parts.length === abortAfter) abort?.abort();
    }
    return { parts };
  } catch (error) {
    return { parts, failure: String((error as Error).message || error) };
  }
}
