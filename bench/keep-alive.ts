import { Agent, request } from 'node:http';

const agent = new Agent({ keepAlive: true });

/** Posts JSON over a kept connection and returns the status when the whole answer has arrived. */
export function postJson(url: string, body: object, headers: Record<string, string> = {}): Promise<number> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
    });
    sent.on('response', (answer) => {
      answer.on('error', reject).on('end', () => resolve(answer.statusCode ?? 0));
      answer.resume();
    });
    sent.on('error', reject).end(text);
  });
}
