import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { ChildData, endWithParent } from '../in-child';

export type TestOrder =
  | 'pid'
  | 'fill the heap'
  | 'fill buffers'
  | 'block'
  | 'exit'
  | 'set a flag of V8'
  | 'environment'
  | { readBytes: number };

endWithParent();
const data = new ChildData();
let held: Buffer;
process.on('message', (order: TestOrder) => void obey(order));

async function obey(order: TestOrder): Promise<void> {
  if (typeof order !== 'string') return tell((await data.read(order.readBytes)).toString());
  switch (order) {
    case 'pid':
      return tell(process.pid);
    case 'environment':
      return tell({ ...process.env, coreLimit: /^Max core file size +(\S+)/m.exec(ownLimits())?.[1] });
    case 'set a flag of V8':
      return setFlagsFromString('--allow-natives-syntax');
    case 'exit':
      return process.exit(7);
    case 'fill the heap':
      for (const all: unknown[] = []; ;) all.push({ text: `${Math.random()}`, list: [1, 2, 3] });
    case 'fill buffers':
      held = Buffer.alloc(300_000_000, 1);
      return tell(held.length);
    case 'block':
      process.send!(process.pid, undefined, undefined, () => {
        for (;;);
      });
  }
}

function ownLimits(): string {
  return process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : '';
}

function tell(answer: unknown): void {
  process.send!(answer);
}
