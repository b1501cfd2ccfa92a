import { parseLine } from './parse-line';

const json = (value: unknown) => JSON.stringify(value);

it.each<['stdout' | 'stderr', string, object]>([
  ['stdout', 'hello', { level: 'info', message: 'hello' }],
  ['stderr', 'oh no', { level: 'error', message: 'oh no' }],
  ['stdout', json({ msg: 'a', level: 'warn' }), { level: 'warn', message: 'a' }],
  ['stderr', json({ msg: 'a', level: 'debug', options: {} }), { level: 'debug', message: 'a' }],
  [
    'stdout',
    json({ msg: 'a', level: 'info', options: { userId: 'u', conversationId: 'c', workflowId: 'w', eventId: 'e' } }),
    { level: 'info', message: 'a', userId: 'u', conversationId: 'c', workflowId: 'w', eventId: 'e' },
  ],
  [
    'stdout',
    json({ msg: 'a', level: 'info', options: { userId: 1, conversationId: '', eventId: 'e'.repeat(201) } }),
    { level: 'info', message: 'a' },
  ],
  ['stdout', 'Received event_received operation for bot x of type y', { level: 'debug' }],
  ['stdout', '{ not json', { level: 'info', message: '{ not json' }],
  ['stdout', json({ msg: 'a' }), { level: 'info', message: '{"msg":"a"}' }],
  ['stdout', json({ msg: 'a', visible_to_bot_owner: true }), { level: 'info', message: 'a', isForBot: true }],
  ['stderr', json({ msg: 'a', visible_to_bot_owner: true }), { level: 'error', message: 'a', isForBot: true }],
  ['stdout', json({ msg: 1, level: 'info' }), { level: 'info', message: '{"msg":1,"level":"info"}' }],
  ['stdout', json({ msg: 'a', level: 'fatal' }), { level: 'info', message: '{"msg":"a","level":"fatal"}' }],
  ['stderr', '[1]', { level: 'error', message: '[1]' }],
])('parses a line of %s: %s', (stream, text, line) => {
  expect(parseLine(stream, text)).toMatchObject(line);
});

it('takes no other properties of a line', () => {
  const text = json({ msg: 'a', level: 'info', id: 'x', options: { botId: 'other', __proto__: null } });

  expect(parseLine('stdout', text)).toEqual({ level: 'info', message: 'a' });
});

it('reads who may see a line of an integration', () => {
  const line = { msg: 'a', level: 'info', botId: 'bot', visible_to_bot_owner: true, hidden_to_integration_owner: true };

  expect(parseLine('stdout', json(line))).toEqual({
    ...{ level: 'info', message: 'a', botId: 'bot' },
    ...{ isForBot: true, isForOwner: false },
  });
});

it('reads an issue that an integration reports', () => {
  const issue = { code: 'TOKEN', category: 'configuration', title: 'Bad token', description: 'It has expired.' };
  const data = { token: { raw: 'x', pretty: 'X' }, count: { raw: 3 } };

  const line = parseLine('stdout', json({ type: 'issue', ...issue, data, groupBy: ['token', 7], botId: 'bot' }));

  expect(line).toEqual({
    ...{ level: 'warn', message: 'Bad token: It has expired.', botId: 'bot', isForBot: true },
    issue: { ...issue, data: { token: data.token, count: { raw: '3' } }, groupBy: ['token'] },
  });
  expect(parseLine('stdout', json({ type: 'issue', code: 1 }))).toMatchObject({ level: 'info' });
});
