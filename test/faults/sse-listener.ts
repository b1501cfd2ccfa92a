import { get, type IncomingMessage } from 'node:http';

export interface Heard {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

/** Server-sent events client that reconnects with the last event id, as a browser does. */
export class SseListener {
  readonly heard: Heard[] = [];
  connections = 0;
  private isStopped = false;
  private response?: IncomingMessage;
  private turn = 0;

  /** @param urls of the same stream on several gateways, tried in turn. */
  private constructor(
    private readonly urls: string[],
    private readonly userKey: string,
  ) {}

  static async open(urls: string[], userKey: string): Promise<SseListener> {
    const listener = new SseListener(urls, userKey);
    await listener.connect();
    return listener;
  }

  get messageIds(): string[] {
    return this.heard.filter(({ type }) => type === 'message_created').map(({ data }) => String(data['id']));
  }

  stop(): void {
    this.isStopped = true;
    this.response?.destroy();
  }

  private connect(): Promise<void> {
    const last = this.heard.at(-1)?.id;
    const headers = {
      accept: 'text/event-stream',
      'x-user-key': this.userKey,
      ...(last === undefined ? {} : { 'last-event-id': last }),
    };
    return new Promise((resolve, reject) => {
      const again = () => {
        if (!this.isStopped) setTimeout(() => void this.connect().then(resolve, reject), 100);
      };
      const request = get(this.urls[this.turn++ % this.urls.length]!, { headers, agent: false }, (response) => {
        if (response.statusCode !== 200) {
          response.resume();
          // A client may retry after 429; any other error is final.
          if (response.statusCode === 429) again();
          else reject(new Error(`The stream failed with status ${response.statusCode}.`));
          return;
        }
        this.response = response;
        this.connections += 1;
        this.read(response);
        response.once('close', again);
        resolve();
      });
      request.once('error', again);
    });
  }

  private read(response: IncomingMessage): void {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const frames = (text + chunk).split('\n\n');
      text = frames.pop()!;
      for (const frame of frames) this.take(frame);
    });
    // The `close` event handles the end of the connection.
    response.on('error', () => undefined);
  }

  private take(frame: string): void {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(frame)?.[1];
    const data = field('data');
    if (data === undefined || data === 'ping') return;
    const { type, data: content } = JSON.parse(data) as Pick<Heard, 'type' | 'data'>;
    this.heard.push({ id: field('id') ?? '', type, data: content });
  }
}
