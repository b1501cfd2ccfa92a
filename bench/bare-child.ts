import { createRequire } from 'node:module';

// Child of the baseline `bare-bots`: loads a bundle and calls its handler for each message of the parent.

export interface BareCall {
  number: number;
  headers: Record<string, string>;
  body: string;
}

export interface BareAnswer {
  number: number;
  status: number;
}

type Handler = (request: object) => Promise<{ status?: number } | undefined>;

const load = createRequire(__filename);
const { handler } = load(process.argv[2]!) as { handler: Handler };

process.on('disconnect', () => process.exit());
process.on('message', ({ number, headers, body }: BareCall) => {
  void handler({ method: 'POST', path: '/', query: '', headers, body }).then(
    (answer) => process.send!({ number, status: answer?.status ?? 200 } satisfies BareAnswer),
    () => process.send!({ number, status: 500 } satisfies BareAnswer),
  );
});
