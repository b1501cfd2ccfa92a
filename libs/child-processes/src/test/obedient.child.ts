import { readFileSync } from 'node:fs';
import { ChildData, endWithParent } from '../in-child';

/** What the suite has a child do. */
export type TestOrder =
  'pid' | 'fill the heap' | 'fill buffers' | 'block' | 'exit' | 'environment' | { readBytes: number };

endWithParent();
const data = new ChildData();
process.on('message', (order: TestOrder) => void obey(order));

async function obey(order: TestOrder): Promise<void> {
  if (typeof order !== 'string') return tell((await data.read(order.readBytes)).toString());
  switch (order) {
    case 'pid':
      return tell(process.pid);
    case 'environment':
      return tell({ ...process.env, coreLimit: /^Max core file size +(\S+)/m.exec(ownLimits())?.[1] });
    case 'exit':
      return process.exit(7);
    case 'fill the heap':
      for (const all: unknown[] = []; ;) all.push({ text: `${Math.random()}`, list: [1, 2, 3] });
    case 'fill buffers':
      for (const all: Buffer[] = []; ;) {
        all.push(Buffer.alloc(20_000_000, 1));
        // The parent sees it grow.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    case 'block':
      tell(process.pid);
      // The answer is on its way once the event loop has turned.
      setTimeout(() => {
        for (;;);
      }, 100);
  }
}

function ownLimits(): string {
  return process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : '';
}

function tell(answer: unknown): void {
  process.send!(answer);
}
