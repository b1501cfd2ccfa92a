import { once } from 'node:events';
import { WebSocket } from 'ws';
import { PublicListener } from './public-listener';

describe('the HTTP server before the platform has started', () => {
  let api: PublicListener;

  beforeEach(async () => {
    api = await PublicListener.listen(0, '127.0.0.1');
  });

  afterEach(() => api.close(0));

  it.each([
    ['/v1/files', 503, 'Internal'],
    ['/v1/listening', 503, 'Internal'],
    // Clients of a listen stream reconnect at once after a server error, but wait for Retry-After after 429.
    ['/chat/webhook/conversations/a/b/listen', 429, 'RateLimited'],
    ['/chat/webhook/conversations/a/listen?x-user-key=key', 429, 'RateLimited'],
  ])('answers %s with %d and Retry-After before the platform has started', async (path, status, type) => {
    const answer = await fetch(`${api.url}${path}`);

    expect(answer.status).toBe(status);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toMatchObject({ code: status, type });
  });

  it('refuses a WebSocket handshake before the platform has started', async () => {
    const socket = new WebSocket(`${api.url.replace('http', 'ws')}/chat/webhook/conversations/a/listen`);

    const [, answer] = (await once(socket, 'unexpected-response')) as [
      unknown,
      { statusCode: number; headers: object },
    ];

    expect(answer).toMatchObject({ statusCode: 429, headers: { 'retry-after': '1' } });
    socket.on('error', () => undefined).terminate();
  });
});
