import type { StoredRow } from './point-rows';
import { toPointRows } from './point-rows';
import { PointBlock } from './point-block';
import { type Candidates, PointScan, type ScanQuery } from './point-scan';
import { TenantPoints } from './tenant-points';

export interface TenantSize {
  bytes: number;
  points: number;
  /** Points written or removed since the blocks were stored. */
  unstored: number;
}

export interface BlockState {
  id: string;
  /** A byte for each row, 1 when its point is elsewhere or removed. */
  dead?: Uint8Array;
}

/**
 * Points that the local index has in memory, and their search. It runs on a thread of its own, see ScanThread. Tenants and
 * scans are named by numbers.
 */
export class PointStore {
  private readonly tenants = new Map<number, TenantPoints>();
  private readonly stored = new Map<number, Map<string, PointBlock>>();
  private readonly scans = new Map<number, PointScan>();

  /** Adds rows to a tenant, which may be new; `settle` completes it. */
  add(tenant: number, rows: StoredRow[]): TenantSize {
    return this.change(tenant, (points) => points.add(toPointRows(rows)));
  }

  settle(tenant: number): TenantSize {
    return this.change(tenant, (points) => points.settle());
  }

  /** Throws for a block of another version. */
  addStored(tenant: number, { id, dead }: BlockState, bytes: ArrayBuffer): TenantSize {
    return this.change(tenant, (points) => points.addStored(id, bytes, dead));
  }

  /** @param ids 16 bytes each, in base64 */
  keepOnly(tenant: number, ids: string): TenantSize {
    return this.change(tenant, (points) => points.keepOnly(Buffer.from(ids, 'base64')));
  }

  drop(tenant: number): void {
    this.tenants.delete(tenant);
  }

  search(tenant: number, query: ScanQuery): Candidates {
    const scan = new PointScan(query);
    for (const { block, dead } of this.tenants.get(tenant)?.all ?? []) scan.consider(block, dead);
    return scan.candidates();
  }

  /** Blocks to store. They are kept until `endStoring`, whatever happens to the tenant. */
  beginStoring(tenant: number): BlockState[] {
    const points = this.tenants.get(tenant);
    const parts = points?.all ?? [];
    if (points) points.unstored = 0;
    this.stored.set(tenant, new Map(parts.map(({ id, block }) => [id, block])));
    return parts.map(({ id, dead }) => ({ id, dead }));
  }

  bytesOf(tenant: number, block: string): Uint8Array {
    return new Uint8Array(this.stored.get(tenant)!.get(block)!.buffer);
  }

  endStoring(tenant: number): void {
    this.stored.delete(tenant);
  }

  /** Begins a scan of points that are not kept. */
  begin(scan: number, query: ScanQuery): void {
    this.scans.set(scan, new PointScan(query));
  }

  consider(scan: number, rows: StoredRow[]): void {
    this.scans.get(scan)?.consider(PointBlock.ofRows(toPointRows(rows)));
  }

  end(scan: number): Candidates {
    const candidates = this.scans.get(scan)?.candidates() ?? { nearest: [], worded: [], points: 0 };
    this.scans.delete(scan);
    return candidates;
  }

  private change(tenant: number, change: (points: TenantPoints) => void): TenantSize {
    const points = this.tenants.get(tenant) ?? new TenantPoints();
    this.tenants.set(tenant, points);
    change(points);
    return { bytes: points.bytes, points: points.size, unstored: points.unstored };
  }
}
