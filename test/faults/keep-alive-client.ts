import { Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';

const timeoutMs = 20_000;

export interface Sending {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
}

export interface KeepAliveResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Client with its own keep-alive connections and without retries. */
export class KeepAliveClient {
  private readonly agent = new Agent({ keepAlive: true });

  /** Rejects unless the whole answer arrives. */
  send({ method, url, headers, body }: Sending): Promise<KeepAliveResponse> {
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(timeoutMs);
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const request = httpRequest(url, { method, agent: this.agent, signal, headers: { ...headers, ...length } });
      request.once('error', reject);
      request.once('response', (response) => {
        const { statusCode: status = 0, headers: answered } = response;
        text(response).then((received) => resolve({ status, headers: answered, body: received }), reject);
      });
      request.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
