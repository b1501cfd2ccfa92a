import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import type { KeepAliveResponse, Sending } from './keep-alive-client';

/** Request whose head has arrived at a process, and whose body the test completes later. */
export class HalfSent {
  readonly answer: Promise<KeepAliveResponse>;

  private constructor(
    private readonly request: ClientRequest,
    private readonly rest: string,
  ) {
    this.answer = answerOf(request);
    // Prevents an unhandled rejection; callers still get the error.
    this.answer.catch(() => undefined);
  }

  /** Resolves when half of the body is sent. */
  static async begin({ method, url, headers, body = '' }: Sending): Promise<HalfSent> {
    const length = { 'content-length': Buffer.byteLength(body), expect: '100-continue' };
    const request = httpRequest(url, { method, agent: false, headers: { ...headers, ...length } });
    const half = new HalfSent(request, body.slice(body.length / 2));
    request.flushHeaders();
    await once(request, 'continue');
    request.write(body.slice(0, body.length / 2));
    return half;
  }

  finish(): Promise<KeepAliveResponse> {
    this.request.end(this.rest);
    return this.answer;
  }

  abort(): void {
    this.request.destroy();
  }
}

async function answerOf(request: ClientRequest): Promise<KeepAliveResponse> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // An upload that was answered early still fails: ignored.
  request.on('error', () => undefined);
  return { status: response.statusCode!, headers: response.headers, body: await text(response) };
}
