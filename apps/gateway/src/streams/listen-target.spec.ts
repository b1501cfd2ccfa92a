import { listenTarget } from './listen-target';

it.each([
  ['/chat/hook/conversations/conv_1/listen', 'conv_1'],
  ['/chat/hook/conversations/a/b/c/listen', 'a/b/c'],
  ['/chat/hook/conversations/a%2Fb/listen', 'a/b'],
  ['/chat/hook/conversations/a%5Cb\\c/listen', 'a\\b\\c'],
  ['/chat/hook/conversations//a//listen', '/a/'],
  ['/chat/hook/conversations/listen/listen', 'listen'],
  ['/chat/hook/conversations/a/listen/b/listen?x=/listen', 'a/listen/b'],
  [`/chat/hook/conversations/${'x'.repeat(1000)}/listen`, 'x'.repeat(1000)],
])('parses the conversation id of %s', (url, conversationId) => {
  expect(listenTarget(url)).toEqual({ webhookId: 'hook', conversationId });
});

it('parses the query parameters of a stream', () => {
  expect(listenTarget('/chat/h%20k/conversations/a/listen?lastEventId=7&x-user-key=ey.J%2B.x')).toEqual({
    webhookId: 'h k',
    conversationId: 'a',
    userKey: 'ey.J+.x',
    lastEventId: '7',
  });
});

it.each([
  '/chat/hook/conversations/listen',
  '/chat/hook/conversations//listen',
  '/chat/hook/conversations/a/listen/',
  '/chat/hook/conversations/a',
  '/chat//conversations/a/listen',
  '/chat/a/b/conversations/a/listen',
  '/v1/chat/hook/conversations/a/listen',
  '/chat/hook/conversations/%zz/listen',
  '/chat/hook/conversations/%00/listen',
  `/chat/hook/conversations/${'x'.repeat(1001)}/listen`,
  '/?/chat/hook/conversations/a/listen',
])('returns no stream for %s', (url) => {
  expect(listenTarget(url)).toBeUndefined();
});
