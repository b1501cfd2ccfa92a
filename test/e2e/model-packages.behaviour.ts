import { join } from 'node:path';
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { bundleAsCli } from '@parley/testing/bot-bundle';
import {
  answerWith,
  beginStream,
  failWith,
  type ModelAnswer,
  ModelServer,
  sendChunk,
  sendJson,
} from '@parley/testing/model-server';
import { sendTo } from '@parley/testing/public-api';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { createPlatformDatabase, type EmptyDatabase, queryDatabase } from '@parley/testing/test-database';

type Output = Record<string, unknown>;
type Completed = { choices: { message: { content: string } }[]; usage: object };
type Start = (env: Record<string, string>) => Promise<RunningPlatform>;

const sources = join(__dirname, '../bots/models');
const schema = { type: 'object' as const, additionalProperties: true };
const messages = [{ role: 'user', content: 'hi' }];
const picture = 'data:image/png;base64,iVBORw0KGgo=';
const addCall = { id: 'call_a', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } };

/** Bot that is code, with the published packages in it. */
class CallingBot {
  private constructor(
    readonly id: string,
    readonly client: Client,
  ) {}

  static async deploy(platform: RunningPlatform, code: string): Promise<CallingBot> {
    const actions = { run: { input: { schema }, output: { schema } } };
    const { bot } = await clientOf(platform).createBot({ code, actions });
    return new CallingBot(bot.id, clientOf(platform, bot.id));
  }

  /** Result of a method in the bot. */
  async run<T = Output>(method: string, input: object = {}): Promise<T> {
    const { result, error } = await this.call(method, input);
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result as T;
  }

  /** Error of a method in the bot. */
  async fail(method: string, input: object = {}): Promise<Output> {
    const { result, error } = await this.call(method, input);
    if (!error) throw new Error(`${method} did not fail: ${JSON.stringify(result)}`);
    return error as Output;
  }

  private async call(method: string, input: object): Promise<Output> {
    return (await this.client.callAction({ type: 'run', input: { method, ...input } })).output;
  }
}

/** Published packages, unmodified, in the code of bots. */
export function describeModelPackages(mode: string, start: Start): void {
  describe(`packages in ${mode} mode`, () => {
    let upstream: ModelServer;
    let database: EmptyDatabase;
    let platform: RunningPlatform;
    let older: CallingBot;
    let newer: CallingBot;
    let openai: CallingBot;

    beforeAll(async () => {
      upstream = await ModelServer.start(['gpt-4.1-mini', 'embed-small']);
      database = await createPlatformDatabase();
      const env = { COMPLETIONS_SCRIPT_FILE: '', COMPLETIONS_URL: upstream.url, COMPLETIONS_CACHE_SECONDS: '0' };
      const codes = Promise.all([
        bundleAsCli('./older-packages', sources),
        bundleAsCli('./newer-packages', sources, { '@bpinternal/zui': 'bpinternal-zui-2' }),
        bundleAsCli('./openai-clients', sources),
      ]);
      platform = await start({ ...env, DATABASE_URL: database.url });
      const [olderCode, newerCode, openaiCode] = await codes;
      older = await CallingBot.deploy(platform, olderCode);
      newer = await CallingBot.deploy(platform, newerCode);
      openai = await CallingBot.deploy(platform, openaiCode);
    });

    afterAll(async () => {
      await platform?.stop();
      await upstream?.stop();
      await database?.drop();
    });

    beforeEach(() => {
      upstream.requests.length = 0;
      upstream.answer = answerWith('hello ★ there ■');
    });

    /** Answers with these in turn, and with the last one from then on. */
    function inTurn(...answers: ModelAnswer[]): void {
      let next = 0;
      upstream.answer = (request, response) => answers[Math.min(next++, answers.length - 1)]!(request, response);
    }

    const breakOff: ModelAnswer = (_request, response) => {
      beginStream(response);
      sendChunk(response, { content: 'begun' });
      setImmediate(() => response.destroy());
    };
    const begin: ModelAnswer = (_request, response) => {
      beginStream(response);
      sendChunk(response, { content: 'begun' });
    };
    const never: ModelAnswer = () => undefined;

    async function withBudget(bot: CallingBot, tokens: number, work: () => Promise<void>): Promise<void> {
      await queryDatabase(database, `INSERT INTO models.budget (scope, scope_id, max_tokens) VALUES ('bot', $1, $2)`, [
        bot.id,
        tokens,
      ]);
      await work();
      await queryDatabase(database, `DELETE FROM models.budget WHERE scope_id = $1`, [bot.id]);
    }

    describe.each([
      ['cognitive 0.3.14, zai 2.5.17', () => older],
      ['cognitive 0.5.4, zai 2.6.21', () => newer],
    ])('%s', (_name, botOf) => {
      it('generates text, and sends stop sequences, JSON and pictures', async () => {
        const request = {
          model: 'auto',
          stopSequences: ['■END■', '■fn_end'],
          responseFormat: 'json',
          messages: [
            { role: 'system', content: 'mark with ★' },
            {
              role: 'user',
              type: 'multipart',
              content: [
                { type: 'text', text: '■' },
                { type: 'image', url: picture },
              ],
            },
          ],
        };
        const { output, metadata } = await botOf().run('generateText', { request });

        expect(output).toBe('hello ★ there ■');
        expect(metadata).toMatchObject({ usage: { inputTokens: 10, outputTokens: 5 }, stopReason: 'stop', cost: 0 });
        expect(upstream.requests[0]!.body).toMatchObject({
          stop: ['■END■', '■fn_end'],
          response_format: { type: 'json_object' },
          messages: [
            { role: 'system', content: 'mark with ★' },
            {
              role: 'user',
              content: [
                { type: 'text', text: '■' },
                { type: 'image_url', image_url: { url: picture } },
              ],
            },
          ],
        });
      });

      it('hands tools and their results on', async () => {
        upstream.answer = answerWith('', { finish: 'tool_calls', toolCalls: [addCall] });
        const request = {
          tools: [{ name: 'add', description: 'Adds', parameters: { type: 'object' } }],
          toolControl: { mode: 'required' },
          messages: [
            ...messages,
            {
              ...{ role: 'assistant', type: 'tool_calls', content: null },
              toolCalls: [{ id: 'call_0', type: 'function', function: { name: 'add', arguments: { a: 0 } } }],
            },
            { role: 'user', type: 'tool_result', toolResultCallId: 'call_0', content: '3' },
          ],
        };
        const { toolCalls, metadata } = await botOf().run('generateText', { request });

        expect(toolCalls).toEqual([{ id: 'call_a', name: 'add', input: { a: 1, b: 2 } }]);
        expect(metadata).toMatchObject({ stopReason: 'tool_calls' });
        expect(upstream.requests[0]!.body).toMatchObject({
          tool_choice: 'required',
          messages: [{}, { role: 'assistant' }, { role: 'tool', tool_call_id: 'call_0', content: '3' }],
        });
      });

      it('streams', async () => {
        const { output, last, failure, responses } = await botOf().run('generateTextStream', { request: { messages } });

        expect({ output, failure, responses }).toEqual({ output: 'hello ★ there ■', responses: 1 });
        expect(last).toMatchObject({ finished: true, metadata: { usage: { inputTokens: 10 } } });
      });

      it('notices a stream that breaks off', async () => {
        upstream.answer = breakOff;
        const { output, failure, responses } = await botOf().run('generateTextStream', { request: { messages } });

        expect({ output, responses }).toEqual({ output: 'begun', responses: 0 });
        expect(failure).toEqual(expect.any(String));
      });

      it.each([
        ['generateTextStream', { abortAfter: 1 }, begin],
        ['generateText', { timeout: 3_000 }, never],
      ])('ends the call of the provider when it cancels %s', async (method, input, answer) => {
        upstream.answer = answer;
        const given = { request: { messages }, ...input };
        if (method === 'generateText') await botOf().fail(method, given);
        else expect((await botOf().run(method, given)).failure).toMatch(/cancel|abort/i);

        await upstream.requests[0]!.aborted;
      });

      it.each([
        [429, failWith(429)],
        [500, failWith(500)],
      ])('goes on after a failure %d of the provider', async (_status, failure) => {
        inTurn(failure, answerWith('better'));

        expect(await botOf().run('generateText', { request: { messages } })).toMatchObject({ output: 'better' });
        expect(upstream.requests).toHaveLength(2);
      });

      it('reports a provider that fails, is too slow, or refuses the request', async () => {
        const request = { messages };
        upstream.answer = failWith(500);
        expect(await botOf().fail('generateText', { request })).toMatchObject({ status: 503, type: 'Internal' });
        upstream.answer = never;
        const options = { maxTimeToFirstToken: 50 };
        expect(await botOf().fail('generateText', { request: { messages, options } })).toMatchObject({ status: 503 });
        upstream.answer = failWith(400);
        expect(await botOf().fail('generateText', { request })).toMatchObject({ status: 400, type: 'InvalidPayload' });
      });

      it('reports a used-up budget, without a repetition', async () => {
        await withBudget(botOf(), 3, async () => {
          const failure = await botOf().fail('generateText', { request: { messages } });
          expect(failure).toMatchObject({ status: 403, type: 'QuotaExceeded' });
          const streamed = await botOf().run('generateTextStream', { request: { messages } });
          expect(streamed.failure).toContain('403');
        });
        expect(upstream.requests).toHaveLength(0);
      });

      it('lists the models', async () => {
        const models = await botOf().run<{ id: string }[]>('listModels');
        expect(models.map(({ id }) => id)).toContain('default:gpt-4.1-mini');
      });

      it.each(['generateContent', 'generateContentOlder'])('generates content by %s', async (method) => {
        const request = {
          model: 'best',
          systemPrompt: 'be short ★',
          messages,
          stopSequences: ['■END■'],
          temperature: 0,
        };
        const { output, meta } = await botOf().run<{ output: Output; meta: Output }>(method, { request });

        expect(output['choices']).toMatchObject([{ content: 'hello ★ there ■', stopReason: 'stop' }]);
        expect(meta['tokens']).toEqual({ input: 10, output: 5 });
        expect(upstream.requests.at(-1)!.body).toMatchObject({
          stop: ['■END■'],
          messages: [{ role: 'system', content: 'be short ★' }, messages[0]],
        });
      });

      it('keeps the preferences of the older path in a file', async () => {
        await botOf().run('generateContentOlder', { request: { model: 'best', messages } });
        const { files } = await botOf().client.listFiles({ tags: { purpose: 'config' } });
        expect(files).toMatchObject([{ key: expect.stringContaining('models.config.json') }]);
      });

      it('reports a used-up budget on the older path', async () => {
        await withBudget(botOf(), 3, async () => {
          const request = { model: 'best', messages };
          expect(await botOf().fail('generateContentOlder', { request })).toMatchObject({ type: 'QuotaExceeded' });
        });
      });

      it('writes text with zai', async () => {
        upstream.answer = answerWith('The sea ★');
        expect(await botOf().run('zaiText')).toBe('The sea ★');
        expect(await botOf().run('zaiTextOlder')).toBe('The sea ★');
      });

      it('checks a condition with zai', async () => {
        upstream.answer = answerWith('Analysis: known.\nFinal Answer: ■TRUE■\n');
        expect(await botOf().run('zaiCheck')).toBe(true);
        upstream.answer = answerWith('Analysis: unknown.\nFinal Answer: ■FALSE■\n');
        expect(await botOf().run('zaiCheck')).toBe(false);
        expect(upstream.requests[0]!.body).toMatchObject({ stop: ['■END■'] });
        expect(JSON.stringify(upstream.requests[0]!.body.messages)).toContain('■TRUE■');
      });

      it('extracts an object with zai, and asks again after an answer that is none', async () => {
        inTurn(
          answerWith('nothing of use: }■json_start■ { "name": 3'),
          answerWith('■json_start■{ "name": "John", "age": 30 }'),
        );
        expect(await botOf().run('zaiExtract')).toEqual({ name: 'John', age: 30 });
        expect(upstream.requests).toHaveLength(2);
        expect(upstream.requests[0]!.body).toMatchObject({ stop: ['■json_end■'] });
      });

      it('summarizes with zai', async () => {
        upstream.answer = answerWith('■START■ Wide and blue.');
        expect(await botOf().run('zaiSummarize')).toBe('Wide and blue.');
      });

      it('learns with zai: an approved answer is given again without a call', async () => {
        upstream.answer = answerWith('Known.\nFinal Answer: ■TRUE■\n');
        const { first, again, rows } = await botOf().run('zaiLearn');

        expect({ first, again }).toEqual({ first: true, again: true });
        expect(rows).toMatchObject([{ taskType: 'zai.check', output: { value: true }, status: 'pending' }]);
        expect(upstream.requests).toHaveLength(1);
      });
    });

    it('runs the code that a model wrote, with llmz 0.0.37', async () => {
      inTurn(
        answerWith('■fn_start\nconst sum = await add({ a: 1, b: "x" })\nreturn { action: "done", value: { sum } }\n'),
        answerWith('■fn_start\nconst sum = await add({ a: 1, b: 2 })\nreturn { action: "done", value: { sum } }\n'),
      );
      expect(await older.run('llmz')).toEqual({ output: { sum: 3 }, iterations: 2 });
      expect(upstream.requests[0]!.body).toMatchObject({ stop: ['■fn_end'] });
      expect(JSON.stringify(upstream.requests[0]!.body.messages)).toContain('★');
    });

    it('takes every field of the newer clients, and repeats the answer of a repeated request', async () => {
      const { bot } = await clientOf(platform).createBot({});
      const headers = { authorization: `Bearer ${platform.token}`, 'x-bot-id': bot.id };
      const everything = {
        model: ['auto', 'fast'],
        messages: [{ role: 'user', content: 'hi', name: 'ada', unknown: 1 }],
        temperature: 0.5,
        topP: 0.5,
        maxTokens: 7,
        stopSequences: '■END■',
        responseFormat: 'text',
        reasoningEffort: 'dynamic',
        search: { excludedDomains: ['example.com'] },
        systemPrompt: 'be short',
        tools: [{ name: 'add', parameters: { type: 'object' }, strict: true }],
        toolControl: { mode: 'auto', parallel: false },
        options: {
          debug: true,
          skipCache: true,
          requestId: `r-${bot.id}`,
          maxTimeToFirstToken: 30_000,
          transcriptionModel: 'x',
        },
        meta: { promptSource: 'a', promptCategory: 'b', integrationName: 'c', metadata: { conversationId: 'conv_1' } },
        ...{ signal: {}, userId: 'u', toolChoice: { type: 'auto' }, debug: true, futureField: [1] },
      };
      const ask = () => sendTo(platform.url, 'POST /v2/cognitive/generate-text', { headers, json: everything });
      const [first, second] = [await ask(), await ask()];

      expect(first).toMatchObject({ status: 200, json: { output: 'hello ★ there ■' } });
      expect(second.json).toMatchObject({ output: 'hello ★ there ■', metadata: { requestId: `r-${bot.id}` } });
      expect(upstream.requests).toHaveLength(1);
    });

    describe('openai 7.59.0', () => {
      const request = { model: 'auto', messages };

      it('completes, with a picture, stop sequences and JSON', async () => {
        const content = [{ type: 'image_url', image_url: { url: picture } }];
        const asked = {
          model: 'auto',
          messages: [{ role: 'user', content }],
          stop: ['■END■'],
          response_format: { type: 'json_object' },
        };
        const { choices, usage } = await openai.run<Completed>('openaiCreate', { request: asked });

        expect(choices[0]!.message.content).toBe('hello ★ there ■');
        expect(usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
        expect(upstream.requests[0]!.body).toMatchObject({ ...asked, model: 'gpt-4.1-mini' });
      });

      it('streams with usage', async () => {
        expect(await openai.run('openaiStream', { request })).toEqual({
          ...{ output: 'hello ★ there ■', usage: { prompt_tokens: 10, completion_tokens: 5 } },
        });
      });

      it('notices a stream that breaks off, and cancels one', async () => {
        upstream.answer = breakOff;
        expect(await openai.run('openaiStream', { request })).toMatchObject({
          output: 'begun',
          failure: expect.any(String),
        });
        upstream.answer = begin;
        await openai.run('openaiStream', { request, abortAfter: 1 });
        await upstream.requests.at(-1)!.aborted;
      });

      it('calls tools until the answer', async () => {
        inTurn(answerWith('', { finish: 'tool_calls', toolCalls: [addCall] }), answerWith('It is 3.'));
        expect(await openai.run('openaiTools')).toBe('It is 3.');
        expect(upstream.requests[1]!.body.messages.at(-1)).toMatchObject({ role: 'tool', content: '3' });
      });

      it('goes on after a failure of the provider, and reports a refusal', async () => {
        // The client waits for the 5 s that Parley names.
        inTurn(failWith(429), answerWith('better'));
        expect((await openai.run<Completed>('openaiCreate', { request })).choices[0]!.message.content).toBe('better');
        upstream.answer = failWith(400, { message: 'too long' });
        expect(await openai.fail('openaiCreate', { request })).toMatchObject({ status: 400, code: 'InvalidPayload' });
      });

      it('reports a used-up budget, without a repetition', async () => {
        await withBudget(openai, 3, async () => {
          expect(await openai.fail('openaiCreate', { request })).toMatchObject({ status: 403, code: 'QuotaExceeded' });
          expect((await openai.fail('vercelText', { messages }))['message']).toMatch(/budget|quota/i);
        });
        expect(upstream.requests).toHaveLength(0);
      });

      it('lists models, and embeds', async () => {
        expect(await openai.run('openaiModels')).toContain('default:gpt-4.1-mini');
        upstream.answer = embedded;
        expect(await openai.run('openaiEmbed')).toMatchObject([{ embedding: [0.5, 0.25] }]);
      });
    });

    describe('ai 7.0.173', () => {
      it('generates text, also from a picture', async () => {
        const content = [
          { type: 'text', text: '■' },
          { type: 'image', image: picture },
        ];
        const { text, usage } = await openai.run('vercelText', { messages: [{ role: 'user', content }] });

        expect(text).toBe('hello ★ there ■');
        expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
        expect(upstream.requests[0]!.body.messages).toMatchObject([
          { content: [{ text: '■' }, { type: 'image_url' }] },
        ]);
      });

      it('calls tools until the answer', async () => {
        inTurn(answerWith('', { finish: 'tool_calls', toolCalls: [addCall] }), answerWith('It is 3.'));
        expect(await openai.run('vercelTools')).toEqual({ text: 'It is 3.', results: [3] });
      });

      it('generates an object, and embeds', async () => {
        upstream.answer = answerWith('{ "name": "★" }');
        expect(await openai.run('vercelObject')).toEqual({ name: '★' });
        expect(upstream.requests[0]!.body).toMatchObject({
          response_format: { type: expect.stringContaining('json') },
        });
        upstream.answer = embedded;
        expect(await openai.run('vercelEmbed')).toEqual([0.5, 0.25]);
      });

      it('streams, notices a stream that breaks off, and cancels one', async () => {
        expect(await openai.run('vercelStream')).toEqual({ output: 'hello ★ there ■' });
        upstream.answer = breakOff;
        expect(await openai.run('vercelStream')).toMatchObject({ output: 'begun', failure: expect.any(String) });
        upstream.answer = begin;
        await openai.run('vercelStream', { abortAfter: 1 });
        await upstream.requests.at(-1)!.aborted;
      });
    });
  });
}

const embedded: ModelAnswer = ({ body }, response) =>
  sendJson(response, {
    ...{ object: 'list', model: body.model, usage: { prompt_tokens: 1, total_tokens: 1 } },
    data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
  });
