import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface Statement {
  /** First schema of the search path of its connection. */
  schema: string;
  /** Name of the prepared statement; empty for unnamed ones. */
  name: string;
  text: string;
  values: (string | null)[];
}

/**
 * Proxy between a program and Postgres that records the program's statements, so that a baseline can run exactly the
 * same. Supports what `pg` sends: simple queries, and Parse, Bind, Execute with text parameters.
 */
export class PostgresTap {
  private readonly sessions: Statement[][] = [];

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {}

  static async start(url: string): Promise<PostgresTap> {
    const server = createServer();
    const tap = new PostgresTap(server, new URL(url));
    server.on('connection', (client) => tap.relay(client));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return tap;
  }

  get url(): string {
    const url = new URL(this.target);
    url.host = `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return url.href;
  }

  /**
   * Recorded units of work with this text in a parameter, in session order. A unit is a single statement or a
   * transaction with all its statements from BEGIN to COMMIT.
   */
  unitsWith(text: string): Statement[][] {
    return this.units().filter((unit) => unit.some(({ values }) => values.some((value) => value?.includes(text))));
  }

  /** Prepared statements of that name, in session order. */
  named(name: string): Statement[] {
    return this.sessions.flat().filter((statement) => statement.name === name);
  }

  unitsLike(pattern: RegExp): Statement[][] {
    return this.units().filter((unit) => unit.some(({ text }) => pattern.test(text)));
  }

  /** Number of recorded statements, including BEGIN and COMMIT. */
  get count(): number {
    return this.sessions.reduce((total, session) => total + session.length, 0);
  }

  clear(): void {
    for (const session of this.sessions) session.length = 0;
  }

  async stop(): Promise<void> {
    this.server.close();
    await once(this.server, 'close');
  }

  private units(): Statement[][] {
    return this.sessions.flatMap((session) => splitIntoUnits(session));
  }

  private relay(client: Socket): void {
    const { hostname, port } = this.target;
    const postgres = connect(Number(port), hostname);
    const session: Statement[] = [];
    const reader = new MessageReader(session);
    this.sessions.push(session);
    client.on('data', (chunk: Buffer) => reader.read(chunk));
    client.pipe(postgres).pipe(client);
    client.on('error', () => postgres.destroy());
    postgres.on('error', () => client.destroy());
  }
}

export function splitIntoUnits(session: Statement[]): Statement[][] {
  const units: Statement[][] = [];
  let transaction: Statement[] | undefined;
  for (const statement of session) {
    if (/^begin/i.test(statement.text)) transaction = [];
    if (transaction) transaction.push(statement);
    else units.push([statement]);
    if (!transaction || !/^(commit|rollback)/i.test(statement.text)) continue;
    units.push(transaction);
    transaction = undefined;
  }
  return units;
}

/** Parser for client messages of the PostgreSQL frontend/backend protocol, version 3. */
class MessageReader {
  private rest = Buffer.alloc(0);
  private isStarted = false;
  private schema = '';
  private readonly texts = new Map<string, string>();

  constructor(private readonly session: Statement[]) {}

  read(chunk: Buffer): void {
    this.rest = Buffer.concat([this.rest, chunk]);
    for (;;) {
      // The first message has no type byte before its length.
      const typeBytes = this.isStarted ? 1 : 0;
      if (this.rest.length < typeBytes + 4) return;
      const end = typeBytes + this.rest.readInt32BE(typeBytes);
      if (this.rest.length < end) return;
      if (this.isStarted) this.note(String.fromCharCode(this.rest[0]!), this.rest.subarray(5, end));
      else this.schema = /search_path=(\w+)/.exec(this.rest.toString('latin1', 0, end))?.[1] ?? '';
      this.isStarted = true;
      this.rest = this.rest.subarray(end);
    }
  }

  private note(type: string, body: Buffer): void {
    const fields = new Fields(body);
    const { schema } = this;
    if (type === 'Q') this.session.push({ schema, name: '', text: fields.text(), values: [] });
    if (type === 'P') this.texts.set(fields.text(), fields.text());
    if (type !== 'B') return;
    fields.text(); // Portal name.
    const name = fields.text();
    const formats = Array.from({ length: fields.int16() }, () => fields.int16());
    if (formats.includes(1))
      throw new Error('The tap does not support parameters in binary format; send them as text.');
    const values = Array.from({ length: fields.int16() }, () => fields.value());
    this.session.push({ schema, name, text: this.texts.get(name) ?? '', values });
  }
}

class Fields {
  private offset = 0;

  constructor(private readonly body: Buffer) {}

  text(): string {
    const end = this.body.indexOf(0, this.offset);
    const text = this.body.toString('utf8', this.offset, end);
    this.offset = end + 1;
    return text;
  }

  int16(): number {
    this.offset += 2;
    return this.body.readInt16BE(this.offset - 2);
  }

  value(): string | null {
    const length = this.body.readInt32BE(this.offset);
    this.offset += 4;
    if (length < 0) return null;
    this.offset += length;
    return this.body.toString('utf8', this.offset - length, this.offset);
  }
}
