import { randomUUID } from 'node:crypto';
import { idBytes, mostPointsInBlock, PointBlock } from './point-block';
import type { PointRow } from './point-rows';

/** Objects of a block beside its buffer, estimated. */
const bytesOfBlock = 4_000;

/** Block with its dead rows: points that were removed, or written again into another block. */
export interface Part {
  /** Blocks do not change, so it tells whether Postgres has the block. */
  id: string;
  block: PointBlock;
  dead?: Uint8Array;
}

/** Points of a bot and model in memory. */
export class TenantPoints {
  bytes = 0;
  /** Points written or removed since the blocks were read or stored. */
  unstored = 0;
  private parts: Part[] = [];

  get all(): readonly Part[] {
    return this.parts;
  }

  get size(): number {
    return this.parts.reduce((sum, { block, dead }) => sum + block.size - countOnes(dead), 0);
  }

  /** Adds points with unique ids; they replace those that have their ids. */
  add(rows: PointRow[]): void {
    this.removeIds(rows.map(({ id }) => idBytes(id)));
    this.unstored += rows.length;
    let block = PointBlock.ofRows(rows);
    // Merges small blocks that were added one by one, each only with a block of at least its size.
    for (let last = this.parts.at(-1); last && fitTogether(last.block, block); last = this.parts.at(-1)) {
      block = PointBlock.of([...this.takeOut(last), ...block.points()]);
    }
    this.put(block);
  }

  addStored(id: string, bytes: ArrayBuffer, dead?: Uint8Array): void {
    this.put(new PointBlock(bytes), id, dead);
  }

  /** Removes all points but those with these ids, each of 16 bytes. */
  keepOnly(ids: Buffer): void {
    const living = new Set<string>();
    for (let at = 0; at < ids.length; at += 16) living.add(ids.toString('latin1', at, at + 16));
    for (const part of this.parts.slice()) {
      this.bury(part, (row) => !living.has(part.block.rawIdOf(row)));
      this.tidy(part);
    }
  }

  private removeIds(ids: Uint8Array[]): void {
    for (const part of this.parts.slice()) {
      const rows = new Set(ids.map((id) => part.block.rowOf(id)));
      this.bury(part, (row) => rows.has(row));
      this.tidy(part);
    }
  }

  private bury(part: Part, isDead: (row: number) => boolean): void {
    for (let row = 0; row < part.block.size; row++) {
      if (part.dead?.[row] || !isDead(row)) continue;
      part.dead ??= new Uint8Array(part.block.size);
      part.dead[row] = 1;
      this.unstored++;
    }
  }

  /** Replaces a block when half of its rows are dead. */
  private tidy(part: Part): void {
    if (2 * countOnes(part.dead) < part.block.size) return;
    const points = this.takeOut(part);
    if (points.length > 0) this.put(PointBlock.of(points));
  }

  private put(block: PointBlock, id: string = randomUUID(), dead?: Uint8Array): void {
    this.parts.push({ id, block, dead });
    this.bytes += bytesOf(block);
  }

  private takeOut(part: Part) {
    this.parts = this.parts.filter((each) => each !== part);
    this.bytes -= bytesOf(part.block);
    return part.block.points(part.dead);
  }
}

export function countOnes(flags?: Uint8Array): number {
  return flags ? flags.reduce((count, flag) => count + flag, 0) : 0;
}

/** With a flag for each row. */
function bytesOf(block: PointBlock): number {
  return block.buffer.byteLength + block.size + bytesOfBlock;
}

function fitTogether(last: PointBlock, next: PointBlock): boolean {
  return last.size <= next.size && last.size + next.size <= mostPointsInBlock;
}
