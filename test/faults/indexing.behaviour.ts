import { zipOf } from '@parley/documents/test/zip-of';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { pdfOf, pdfOfObjects } from '@parley/testing/pdf';
import { waitFor } from '@parley/testing/wait-for';
import { Checker } from './checker/checker';
import { Ledger } from './checker/ledger';
import { residentMb } from './process-usage';
import { declare } from './promised-file';
import type { SharedFleet } from './shared-fleet';

const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const settledWithinMs = 60_000;
/** Memory that a worker keeps after much reading: its code, and memory that is reused first. */
const mostMbKept = 250;

interface Hostile {
  name: string;
  type: string;
  content: Buffer;
  reason: RegExp;
}

/** Each would crash a parser that trusts its input. */
const hostile: Hostile[] = [
  { name: 'zip-bomb.docx', type: docx, content: zipBomb(), reason: /unpacks to more than 512 MB/ },
  { name: 'lying.docx', type: docx, content: zipBomb({ declaredSize: 1_000 }), reason: /is damaged/ },
  { name: 'bomb.xml', type: 'application/xml', content: xmlBomb(), reason: /declares entities/ },
  {
    name: 'circle.pdf',
    type: 'application/pdf',
    // Cyclic page tree.
    content: pdfOfObjects(['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [2 0 R] /Count 3 >>']),
    reason: /PDF/,
  },
  {
    name: 'long.pdf',
    type: 'application/pdf',
    content: pdfOf(Array.from({ length: 10_000 }, () => [])),
    reason: /has 10000 pages; at most 5000/,
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

export function describeHostileDocuments(sharedFleet: () => SharedFleet): void {
  describe('hostile documents', () => {
    it('fails hostile documents each with a reason, while good ones complete in the same process', async () => {
      const { fleet } = sharedFleet();
      const ledger = new Ledger();
      const { bot } = await clientOf(fleet).createBot({});
      ledger.bot(bot.id);
      const client = clientOf(fleet, bot.id);
      const worker = fleet.the('files-worker');
      const settled = async (id: string) => {
        const answer = await waitFor(
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
      const kept = await waitFor(
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

/** Word document whose text unpacks to 300 MB, or to 20 MB where it declares less. */
function zipBomb({ declaredSize }: { declaredSize?: number } = {}): Buffer {
  const text = Buffer.alloc(declaredSize ? 20_000_000 : 300_000_000, ' ');
  return zipOf([
    { name: '[Content_Types].xml', content: '<Types/>' },
    { name: 'word/document.xml', content: text, declaredSize },
  ]);
}

/** Entities that expand to a billion words. */
function xmlBomb(): Buffer {
  const entities = Array.from({ length: 9 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`);
  return Buffer.from(`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e0 "ha ">${entities.join('')}]><a>&e9;</a>`);
}
