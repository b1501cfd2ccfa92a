import type { FastifyRequest } from 'fastify';
import { ParleyClient } from '@parley/transport/parley-client';
import { InProcessHub, InProcessDriver } from '@parley/transport/in-process-driver';
import { chatUser, chatVisitor } from '@parley/contracts/access';
import { Empty } from '@parley/contracts/paging';
import { createLogger } from '@parley/logging/logger';
import { IdentityService } from './identity.service';

const guard = new IdentityService(
  new ParleyClient(new InProcessDriver(new InProcessHub(), 1000, createLogger('test', 'silent'))),
);

const request = (headers: Record<string, string>) =>
  ({ id: 'req_1', ip: '10.0.0.1', headers }) as unknown as FastifyRequest;

describe('on the chat endpoint', () => {
  it.each([
    ['a user', chatUser],
    ['a visitor', chatVisitor],
  ])('passes the user key of %s on unchanged to the chat API, and ignores the token', async (_who, access) => {
    const headers = { 'x-user-key': 'any.thing', authorization: 'Bearer bad' };
    const caller = await guard.identify(request(headers), { access, input: Empty });

    expect(caller).toMatchObject({ requestId: 'req_1', address: '10.0.0.1', credential: 'user', userKey: 'any.thing' });
  });

  it.each([
    ['no key', {}],
    ['an empty key', { 'x-user-key': '' }],
  ])('returns Unauthorized to a chat user with %s', async (_what, headers) => {
    await expect(guard.identify(request(headers), { access: chatUser, input: Empty })).rejects.toMatchObject({
      type: 'Unauthorized',
      message: expect.stringContaining('x-user-key') as string,
    });
  });

  it('requires no key of a visitor', async () => {
    const caller = await guard.identify(request({}), { access: chatVisitor, input: Empty });

    expect(caller).toMatchObject({ credential: 'none' });
    expect(caller.userKey).toBeUndefined();
  });
});
