import { resolve } from 'node:path';
import { bundleAsCli } from '@parley/testing/bot-bundle';

const megabyte = 1_000_000;

/** Code of a bot that answers each message: the published SDK, bundled as the CLI does, and filled up to 1 MB. */
export async function bundleEcho(): Promise<string> {
  const code = await bundleAsCli('./echo', resolve('bench/code-bots'));
  return code + `\n/*${'.'.repeat(Math.max(0, megabyte - code.length))}*/`;
}

/** Code without the SDK, which answers everything at once. */
export const silentCode = `exports.handler = async () => ({ status: 200, body: '{}' });`;

/** Integration whose action `add` returns a sum. */
export const addingCode = `
  exports.handler = async ({ headers, body }) => {
    if (headers['x-bp-operation'] !== 'action_triggered') return { status: 200, body: '{}' };
    const { a, b } = JSON.parse(body).input;
    return { status: 200, body: JSON.stringify({ output: { sum: a + b } }) };
  };`;

/** Integration that makes messages of webhooks, and posts the messages of the bot to a service. */
export const relayCode = (serviceUrl: string): string => `
  const call = async ({ headers }, path, body) => {
    const own = Object.fromEntries(['x-bot-id', 'x-integration-id', 'x-integration-alias'].map((name) => [name, headers[name]]));
    const answer = await fetch(process.env.BP_API_URL + '/v1/chat/' + path, { method: 'POST', body: JSON.stringify(body),
      headers: { ...own, 'content-type': 'application/json', authorization: 'Bearer ' + process.env.BP_TOKEN } });
    if (!answer.ok) throw new Error(path + ': ' + answer.status + ' ' + (await answer.text()));
    return answer.json();
  };
  exports.handler = async (request) => {
    const operation = request.headers['x-bp-operation'];
    const body = request.body ? JSON.parse(request.body) : {};
    if (operation === 'webhook_received') {
      const { room, text } = JSON.parse(body.req.body);
      const { user } = await call(request, 'users/get-or-create', { tags: { id: room } });
      const { conversation } = await call(request, 'conversations/get-or-create', { channel: 'channel', tags: { id: room } });
      await call(request, 'messages', { conversationId: conversation.id, userId: user.id, type: 'text', payload: { text }, tags: {} });
      return { status: 201, body: '' };
    }
    if (operation === 'message_created')
      await fetch('${serviceUrl}', { method: 'POST', body: JSON.stringify(body.payload) }).then((answer) => answer.text());
    return { status: 200, body: '{}' };
  };`;

/** Code that harms others as far as it can, by the way it does so. Each event starts it once. */
export const hostileCodes = {
  'blocks its loop': `exports.handler = () => { for (;;); };`,
  leaks: `
    const kept = [];
    exports.handler = async () => {
      for (;;) {
        kept.push(Buffer.alloc(1_000_000, 1));
        await new Promise(setImmediate);
      }
    };`,
  forks: `
    const { spawn } = require('node:child_process');
    exports.handler = async () => {
      for (let n = 0; n < 100; n += 1) {
        try { spawn('sleep', ['60']).on('error', () => {}); } catch {}
      }
      return { status: 200 };
    };`,
  'logs 100 MB': `
    exports.handler = async () => {
      for (let n = 0; n < 100; n += 1) console.log('x'.repeat(1_000_000));
      return { status: 200 };
    };`,
};
