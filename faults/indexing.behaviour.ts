import { deflateRawSync, crc32 } from 'node:zlib';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { pdfOf, pdfOfObjects } from '@parley/testing/pdf';
import { until } from '@parley/testing/until';
import { Checker } from './checker/checker';
import { Ledger } from './checker/ledger';
import { residentMb } from './process-usage';
import { declare } from './promised-file';
import type { Stage } from './stage';

const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const settledWithinMs = 60_000;
/** What stays of a worker that has read much: its code, and memory that is used again before more is asked for. */
const mostMbKept = 250;

interface Hostile {
  name: string;
  type: string;
  content: Buffer;
  reason: RegExp;
}

/** Each would take a parser with it that trusts what it reads. */
const hostile: Hostile[] = [
  { name: 'zip-bomb.docx', type: docx, content: zipBomb(), reason: /unpacks to more than 512 MB/ },
  { name: 'lying.docx', type: docx, content: zipBomb({ declaredBytes: 1_000 }), reason: /is damaged/ },
  { name: 'bomb.xml', type: 'application/xml', content: xmlBomb(), reason: /declares entities/ },
  {
    name: 'circle.pdf',
    type: 'application/pdf',
    // Its tree of pages is its own branch.
    content: pdfOfObjects(['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [2 0 R] /Count 3 >>']),
    reason: /PDF/,
  },
  {
    name: 'long.pdf',
    type: 'application/pdf',
    content: pdfOf(Array.from({ length: 10_000 }, () => [])),
    reason: /has 10000 pages, and no more than 5000/,
  },
  {
    name: 'deep.rtf',
    type: 'application/rtf',
    content: Buffer.from(`{\\rtf1 ${'{'.repeat(1e6)}x${'}'.repeat(1e6)}}`),
    reason: /nested more than 256 levels/,
  },
  {
    name: 'deep.json',
    type: 'application/json',
    content: Buffer.from('['.repeat(1e6) + ']'.repeat(1e6)),
    reason: /nested deeper than 1000 levels/,
  },
];

export function describeHostileDocuments(stage: () => Stage): void {
  describe('documents that are made to hurt', () => {
    it('fail each with its reason, and good ones before, beside and after them complete in the same process', async () => {
      const { fleet } = stage();
      const ledger = new Ledger();
      const { bot } = await clientOf(fleet).createBot({});
      ledger.bot(bot.id);
      const client = clientOf(fleet, bot.id);
      const worker = fleet.the('files-worker');
      const settled = async (id: string) => {
        const answer = await until(
          () => client.getFile({ id }),
          ({ file }) => !file.status.endsWith('_pending'),
          settledWithinMs,
        );
        return answer.file;
      };
      const good = async (name: string) => {
        const file = await declare(fleet, ledger, bot.id, name);
        expect(await file.upload()).toBe(200);
        return file.id;
      };
      const bad = async ({ name, type, content }: Hostile) => {
        const { file } = await client.upsertFile({ key: name, contentType: type, size: content.length, index: true });
        expect((await put(file.uploadUrl, content)).status).toBe(200);
        return file.id;
      };

      await settled(await good('before'));
      const { pid } = worker;
      const memoryBefore = await residentMb(pid);
      const ids: string[] = [];
      for (const document of hostile) ids.push(await bad(document), await good(`beside-${ids.length}`));
      const files = await Promise.all(ids.map(settled));
      await settled(await good('after'));

      const reasons = files.filter(({ key }) => !key.startsWith('beside')).map((file) => file.failedStatusReason);
      expect(reasons).toEqual(hostile.map(({ reason }) => expect.stringMatching(reason)));
      expect(files.filter(({ status }) => status === 'indexing_completed')).toHaveLength(hostile.length);
      expect(await new Checker(fleet, ledger).findings(60_000)).toEqual([]);
      expect({ pid: worker.pid, isRunning: worker.isRunning }).toEqual({ pid, isRunning: true });
      const kept = await until(
        async () => (await residentMb(pid)) - memoryBefore,
        (megabytes) => megabytes < mostMbKept,
        45_000,
      );
      process.stderr.write(
        `the worker had ${Math.round(memoryBefore)} MB, and ${Math.round(kept)} MB more at the end\n`,
      );
    });
  });
}

/** A Word document whose text unpacks to 600 MB, or says that it is smaller than that. */
function zipBomb({ declaredBytes }: { declaredBytes?: number } = {}): Buffer {
  const bytes = Buffer.alloc(declaredBytes ? 20_000_000 : 600_000_000, ' ');
  const names = ['[Content_Types].xml', 'word/document.xml'];
  const packed = deflateRawSync(bytes, { level: 9 });
  const checksum = crc32(bytes);
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let position = 0;
  for (const name of names) {
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(checksum, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(declaredBytes ?? bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('504b0304', 'hex'), common, Buffer.from(name), packed]);
    const more = Buffer.alloc(14);
    more.writeUInt32LE(position, 10);
    directory.push(Buffer.from('504b01021400', 'hex'), common, more, Buffer.from(name));
    locals.push(local);
    position += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('504b0506', 'hex');
  end.writeUInt16LE(names.length, 8);
  end.writeUInt16LE(names.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(position, 16);
  return Buffer.concat([...locals, entries, end]);
}

/** A billion words, for who expands its entities. */
function xmlBomb(): Buffer {
  const entities = Array.from({ length: 9 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`);
  return Buffer.from(`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e0 "ha ">${entities.join('')}]><a>&e9;</a>`);
}
