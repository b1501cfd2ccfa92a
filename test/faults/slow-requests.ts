import { clientOf } from '@parley/testing/api';
import { document } from './checker/ledger';
import type { Fleet } from './fleet';
import { HalfSent } from './half-sent';
import { type KeepAliveResponse, KeepAliveClient } from './keep-alive-client';
import { RowLock } from './row-lock';

/** Pending requests at the time of the signal, which end after the processes have stopped accepting requests. */
export class SlowRequests {
  private constructor(
    private readonly locks: RowLock[],
    private readonly waiting: Promise<KeepAliveResponse>[],
    private readonly halves: HalfSent[],
  ) {}

  /** Deletions that wait for a row lock, and a half-sent request and upload to the replicas with this index. */
  static async begin(fleet: Fleet, place: number): Promise<SlowRequests> {
    const admin = clientOf(fleet);
    const { bot } = await admin.createBot({});
    const client = clientOf(fleet, bot.id);
    const headers = fleet.headers(bot.id);
    const one = new KeepAliveClient();
    const remove = (path: string) => one.send({ method: 'DELETE', url: `${fleet.url}${path}`, headers });
    const some = [1, 2, 3];
    const bots = await Promise.all(some.map(async () => (await admin.createBot({})).bot.id));
    const files = await Promise.all(some.map(async (n) => (await client.upsertFile({ key: `${n}`, size: 1 })).file.id));
    const locks = [
      await RowLock.take(fleet.databaseUrl, 'admin.bot', bots),
      await RowLock.take(fleet.databaseUrl, 'files.file', files),
    ];
    const waiting = [
      ...bots.map((id) => remove(`/v1/admin/bots/${id}`)),
      ...files.map((id) => remove(`/v1/files/${id}`)),
    ];
    await Promise.race([
      Promise.all(locks.map((lock) => lock.awaited(some.length))),
      ...waiting.map((answer) => answer.then(refuseEarly)),
    ]);

    const { text } = document('slow', 3);
    const { file } = await client.upsertFile({
      key: 'slow.txt',
      size: text.length,
      index: true,
      contentType: 'text/plain',
    });
    const { pathname, search } = new URL(file.uploadUrl);
    const upload = {
      method: 'PUT',
      url: `${fleet.replicas('files')[place]!.url}${pathname}${search}`,
      headers: {},
      body: text,
    };
    const body = JSON.stringify({ key: 'half', size: 1 });
    const declaration = {
      method: 'PUT',
      url: `${fleet.replicas('gateway')[place]!.url}/v1/files`,
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    };
    return new SlowRequests(locks, waiting, [await HalfSent.begin(upload), await HalfSent.begin(declaration)]);
  }

  async finish(): Promise<KeepAliveResponse[]> {
    await Promise.all(this.locks.map((lock) => lock.release()));
    return Promise.all([...this.waiting, ...this.halves.map((half) => half.finish())]);
  }
}

function refuseEarly({ status, body }: KeepAliveResponse): never {
  throw new Error(`A request that should wait for a lock was answered with ${status}: ${body}`);
}
