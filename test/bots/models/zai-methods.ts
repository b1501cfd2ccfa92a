import type { Client } from '@botpress/client';
import type { Method } from './calling-bot';

/** Part of `@botpress/zai` that both tested versions have. */
export interface ZaiLike {
  text(prompt: string, options?: { length: number }): PromiseLike<string>;
  check(input: string, condition: string): PromiseLike<boolean>;
  summarize(text: string, options: { length: number }): PromiseLike<string>;
  learn(taskId: string): ZaiLike;
}

interface ZaiOptions {
  client: Client;
  modelId?: string;
  activeLearning?: { enable: boolean; tableName: string; taskId: string };
}

/** Methods of `@botpress/zai`, as a bot calls them: with the client that the SDK gives it, or with one of `@botpress/cognitive`. */
export function zaiMethods(
  zaiOf: (options: ZaiOptions) => ZaiLike,
  extract: (zai: ZaiLike, input: string) => PromiseLike<unknown>,
  cognitiveOf: (client: Client) => unknown,
): Record<string, Method> {
  const open = (client: Client, isOlder = false) =>
    zaiOf({ client: isOlder ? client : (cognitiveOf(client) as Client), modelId: 'best' });
  return {
    zaiText: ({ client }) => open(client).text('Write about the sea', { length: 100 }),
    zaiCheck: ({ client }) => open(client).check('50 Cent', 'Is this a person?'),
    zaiExtract: ({ client }) => extract(open(client), 'John is 30 years old'),
    zaiSummarize: ({ client }) => open(client).summarize('The sea is wide. It is blue. '.repeat(20), { length: 50 }),
    zaiTextOlder: ({ client }) => open(client, true).text('Write about the sea'),
    zaiLearn: async ({ client }) => {
      const tableName = 'LearntTable';
      const learning = zaiOf({
        client: cognitiveOf(client) as Client,
        modelId: 'best',
        activeLearning: { enable: true, tableName, taskId: 'persons' },
      }).learn('persons');
      const first = await learning.check('50 Cent', 'Is this a person?');
      const { rows } = await client.findTableRows({ table: tableName, limit: 10 });
      await client.updateTableRows({ table: tableName, rows: rows.map(({ id }) => ({ id, status: 'approved' })) });
      // Answered by the approved example, without a call of the model.
      return { first, again: await learning.check('50 Cent', 'Is this a person?'), rows };
    },
  };
}
