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
  ['stdout', json({ msg: 1, level: 'info' }), { level: 'info', message: '{"msg":1,"level":"info"}' }],
  ['stdout', json({ msg: 'a', level: 'fatal' }), { level: 'info', message: '{"msg":"a","level":"fatal"}' }],
  ['stderr', '[1]', { level: 'error', message: '[1]' }],
])('from %s: %s', (stream, text, line) => {
  expect(parseLine(stream, text)).toMatchObject(line);
});

it('takes no other properties of a line', () => {
  const text = json({ msg: 'a', level: 'info', botId: 'other', options: { botId: 'other', __proto__: null } });

  expect(parseLine('stdout', text)).toEqual({ level: 'info', message: 'a' });
});
