import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Response of the server: embeddings, at once or late, a status, an invalid body, or none. */
export type EmbeddingResponse =
  | 'well'
  | 'garbage'
  | 'never'
  | { delayMs: number }
  | { status: number; message: string; headers?: Record<string, string> };

export interface HeldRequest {
  reached: Promise<void>;
  release(): void;
}

/**
 * Fake of an OpenAI-compatible embedding server, which fails on demand. An order applies to requests with a text that
 * contains its marker, so that it does not disturb the other files of a test.
 */
export class EmbeddingServer {
  readonly requests: string[][] = [];
  private readonly orders = new Map<string, EmbeddingResponse[]>();
  private readonly holds = new Map<string, { reach: () => void; released: Promise<void> }>();

  private constructor(
    private readonly server: Server,
    private readonly dimensions: number,
  ) {}

  static async start({ dimensions = 8 }: { dimensions?: number } = {}): Promise<EmbeddingServer> {
    const server = createServer();
    const embeddings = new EmbeddingServer(server, dimensions);
    server.on('request', (request, response) => void embeddings.receive(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return embeddings;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** One answer for each request from now on; the last one is for all further requests. */
  order(marker: string, ...answers: EmbeddingResponse[]): void {
    this.orders.set(marker, answers);
  }

  hold(marker: string): HeldRequest {
    let reach = () => undefined as void;
    let release = () => undefined as void;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    this.holds.set(marker, { reach, released });
    return {
      reached,
      release: () => {
        this.holds.delete(marker);
        release();
      },
    };
  }

  countRequests(marker: string): number {
    return this.requests.filter((texts) => texts.some((text) => text.includes(marker))).length;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] };
    this.requests.push(input);
    for (const [marker, { reach, released }] of this.holds) {
      if (!input.some((text) => text.includes(marker))) continue;
      reach();
      await released;
    }
    await answer(this.nextAnswer(input), input, this.dimensions, response);
  }

  private nextAnswer(input: string[]): EmbeddingResponse {
    for (const [marker, answers] of this.orders) {
      if (input.some((text) => text.includes(marker)))
        return (answers.length > 1 ? answers.shift() : answers[0]) ?? 'well';
    }
    return 'well';
  }
}

async function answer(
  order: EmbeddingResponse,
  input: string[],
  dimensions: number,
  response: ServerResponse,
): Promise<void> {
  if (order === 'never') return;
  if (order === 'garbage') return void response.end('<html>Welcome</html>');
  if (typeof order === 'object' && 'delayMs' in order) await sleep(order.delayMs);
  if (typeof order === 'object' && 'status' in order) {
    response.writeHead(order.status, order.headers).end(JSON.stringify({ error: { message: order.message } }));
    return;
  }
  response.end(JSON.stringify({ data: input.map((text, index) => ({ index, embedding: embed(text, dimensions) })) }));
}

/** Counts of the characters, so that different texts have different directions. */
function embed(text: string, dimensions: number): number[] {
  const vector = Array<number>(dimensions).fill(0.01);
  for (const character of text) vector[character.codePointAt(0)! % dimensions]! += 1;
  return vector;
}
