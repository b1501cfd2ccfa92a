import { randomBytes } from 'node:crypto';
import { ModelsAway, ModelsBusy, ModelsClient, ModelsRefused, type TextQuestion } from '@parley/service/models.client';
import { type CompletionRequest, CompletionServer, imagesOf, textOf } from '@parley/testing/completion-server';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { InProcessDriver } from '@parley/transport/in-process-driver';
import { ParleyClient } from '@parley/transport/parley-client';
import { Database } from '@parley/persistence/database';
import { createLogger } from '@parley/logging/logger';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';

let service: RunningService;
let upstream: CompletionServer;
let models: ModelsClient;
let sql: Database;

const until = new AbortController().signal;
const workspaceId = 'wkspace_texts';

beforeAll(async () => {
  upstream = await CompletionServer.start();
  service = await startService((databaseUrl, platform) =>
    ModelsModule.register(
      Object.assign(new ModelsConfig(), { databaseUrl, secretKey: 's'.repeat(32), completionsUrl: upstream.url }),
      platform,
    ),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
  models = new ModelsClient(
    new ParleyClient(new InProcessDriver(service.hub, 64_000_000, createLogger('test', 'silent'))),
  );
});

afterAll(async () => {
  await service?.stop();
  await upstream?.stop();
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.answer = () => ({ text: ' An answer.\n' });
});

let bots = 0;
function questionOf(changes: Partial<TextQuestion> = {}): TextQuestion {
  const common = { purpose: 'summary', model: 'fast', system: 'Be brief.', prompt: 'Why?' } as const;
  return { botId: `bot_texts_${++bots}`, workspaceId, ...common, ...changes };
}

it('answers with the text of the model that the role maps to, and records who pays for what', async () => {
  const question = questionOf({ maxTokens: 77 });

  expect(await models.generate(question, until)).toBe('An answer.');

  expect(upstream.requests).toMatchObject([
    {
      ...{ model: 'gpt-4.1-nano', max_completion_tokens: 77 },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Why?' },
      ],
    },
  ]);
  const calls = await sql.query('SELECT kind, workspace_id, finish FROM model_call WHERE bot_id = $1', [
    question.botId,
  ]);
  expect(calls).toEqual([{ kind: 'summary', workspace_id: workspaceId, finish: 'stop' }]);
});

it('asks the provider each time, also for equal questions of a bot', async () => {
  const question = questionOf();

  await models.generate(question, until);
  await models.generate(question, until);

  expect(upstream.requests).toHaveLength(2);
});

it('passes a picture of megabytes unchanged to the model that sees', async () => {
  const picture = new Uint8Array(randomBytes(3_000_000));
  const asked = questionOf({ purpose: 'vision', model: 'vision', picture });

  await models.generate(asked, until);

  const [request] = upstream.requests as [CompletionRequest];
  expect([request.model, textOf(request)]).toEqual(['gpt-4.1-mini', 'Why?']);
  expect(imagesOf(request)[0]!.equals(picture)).toBe(true);
});

it('says how long busy providers ask to wait', async () => {
  upstream.answer = () => ({ status: 429, message: 'later', headers: { 'retry-after': '17' } });

  const asked = models.generate(questionOf(), until);

  await expect(asked).rejects.toEqual(expect.any(ModelsBusy));
  await expect(asked).rejects.toMatchObject({ retryAfterMs: 17_000 });
});

it.each([
  ['a question that the provider rejects', 400, undefined],
  ['content that the provider refuses', 400, 'content_filter'],
])('refuses %s for good', async (_what, status, code) => {
  upstream.answer = () => ({ status, message: 'no', code });

  await expect(models.generate(questionOf(), until)).rejects.toEqual(expect.any(ModelsRefused));
});

it('tells a failure of all providers from a service that is away', async () => {
  upstream.answer = () => ({ status: 500, message: 'broken' });

  await expect(models.generate(questionOf(), until)).rejects.toMatchObject({ name: 'ModelsUnavailable' });
  await expect(models.generate(questionOf({ workspaceId: undefined }), until)).rejects.toEqual(expect.any(ModelsAway));
});

it('says that the budget of the workspace is used up, and asks no provider', async () => {
  const budget = `INSERT INTO budget (scope, scope_id, max_tokens) VALUES ('workspace', 'wkspace_poor', 1)`;
  await sql.query(budget);

  const asked = models.generate(questionOf({ workspaceId: 'wkspace_poor' }), until);

  await expect(asked).rejects.toMatchObject({
    name: 'BudgetUsedUp',
    message: expect.stringContaining('The budget of the workspace') as string,
  });
  expect(upstream.requests).toEqual([]);
});

it('ends the call of the provider when its caller stops', async () => {
  upstream.answer = () => 'never';
  const stopping = new AbortController();
  const question = questionOf();
  const asked = models.generate(question, stopping.signal);
  asked.catch(() => undefined);
  await waitFor(() => upstream.requests.length === 1);

  stopping.abort(new Error('stopping'));

  await expect(asked).rejects.toThrow('stopping');
  const ended = () =>
    sql.query<{ finish: string }>('SELECT finish FROM model_call WHERE bot_id = $1', [question.botId]);
  expect(await waitFor(ended, (calls) => calls.length === 1)).toEqual([{ finish: 'error' }]);
});
