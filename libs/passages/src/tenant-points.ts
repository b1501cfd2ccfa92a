import { randomUUID } from 'node:crypto';
import { type BlockPoint, idWords, mostPointsInBlock, PointBlock, quantised } from './point-block';
import type { PointRow } from './point-rows';

/** Objects of a block beside its buffer, estimated. */
const bytesOfBlock = 4_000;
/** Objects of a point until it is in a block, estimated. */
const bytesOfAdded = 300;

/** Block with its dead rows: points that were removed, or written again into another block. */
export interface Part {
  /** Blocks do not change, so it tells whether Postgres has the block. */
  id: string;
  block: PointBlock;
  dead?: Uint8Array;
}

/** Points of a bot and model in memory. */
export class TenantPoints {
  /** Points written or removed since the blocks were read or stored. */
  unstored = 0;
  private parts: Part[] = [];
  private readonly added = new Map<string, BlockPoint>();
  private addedBytes = 0;
  private blockBytes = 0;

  get bytes(): number {
    return this.blockBytes + this.addedBytes;
  }

  get all(): readonly Part[] {
    return this.parts;
  }

  get size(): number {
    return this.parts.reduce((sum, { block, dead }) => sum + block.size - countOnes(dead), this.added.size);
  }

  /** Adds points, which replace those that have their ids. They are part of blocks after `settle`. */
  add(rows: PointRow[]): void {
    this.removeIds(rows.map(({ id }) => idWords(id)));
    this.unstored += rows.length;
    for (const row of rows) {
      this.added.set(row.id, quantised(row));
      this.addedBytes += bytesOfRow(row);
    }
    if (this.added.size >= mostPointsInBlock) this.settle();
  }

  /** Makes blocks of the points that were added: of many at once, since building one takes time. */
  settle(): void {
    const points = [...this.added.values()];
    this.added.clear();
    this.addedBytes = 0;
    for (let start = 0; start < points.length; start += mostPointsInBlock) {
      let next = points.slice(start, start + mostPointsInBlock);
      // Merges with small blocks that were added before, of at most its size.
      for (let last = this.parts.at(-1); last && fitTogether(last.block, next); last = this.parts.at(-1))
        next = [...this.takeOut(last), ...next];
      this.put(PointBlock.of(next));
    }
  }

  addStored(id: string, bytes: ArrayBuffer, dead?: Uint8Array): void {
    this.put(new PointBlock(bytes), id, dead);
  }

  /** Removes all points but those with these ids, each of 16 bytes. */
  keepOnly(ids: Buffer): void {
    this.settle();
    const living = new Set<string>();
    for (let at = 0; at < ids.length; at += 16) living.add(ids.toString('latin1', at, at + 16));
    for (const part of this.parts.slice()) {
      const rows = Array.from({ length: part.block.size }, (_, row) => row);
      this.bury(
        part,
        rows.filter((row) => !part.dead?.[row] && !living.has(part.block.rawIdOf(row))),
      );
    }
  }

  private removeIds(ids: Uint32Array[]): void {
    for (const part of this.parts.slice()) {
      const rows = ids.map((id) => part.block.rowOf(id)).filter((row) => row >= 0 && !part.dead?.[row]);
      this.bury(part, rows);
    }
  }

  private bury(part: Part, rows: number[]): void {
    if (rows.length === 0) return;
    part.dead ??= new Uint8Array(part.block.size);
    for (const row of rows) part.dead[row] = 1;
    this.unstored += rows.length;
    this.tidy(part);
  }

  /** Replaces a block when half of its rows are dead. */
  private tidy(part: Part): void {
    if (2 * countOnes(part.dead) < part.block.size) return;
    const points = this.takeOut(part);
    if (points.length > 0) this.put(PointBlock.of(points));
  }

  private put(block: PointBlock, id: string = randomUUID(), dead?: Uint8Array): void {
    this.parts.push({ id, block, dead });
    this.blockBytes += bytesOf(block);
  }

  private takeOut(part: Part) {
    this.parts = this.parts.filter((each) => each !== part);
    this.blockBytes -= bytesOf(part.block);
    return part.block.points(part.dead);
  }
}

export function countOnes(flags?: Uint8Array): number {
  return flags ? flags.reduce((count, flag) => count + flag, 0) : 0;
}

/** With the vector, whose buffer has the terms, too. */
function bytesOfRow({ vector, termIndices, termValues }: PointRow): number {
  return bytesOfAdded + vector.byteLength + termIndices.byteLength + termValues.byteLength;
}

/** With a flag for each row. */
function bytesOf(block: PointBlock): number {
  return block.buffer.byteLength + block.size + bytesOfBlock;
}

function fitTogether(last: PointBlock, next: BlockPoint[]): boolean {
  return last.size <= next.length && last.size + next.length <= mostPointsInBlock;
}
