/** Point as Postgres returns it: `numbers` are the bytes of the vector, the terms and their values in base64. */
export interface StoredRow {
  id: string;
  file_id: string;
  content_version: string;
  vector_bytes: number;
  term_bytes: number;
  numbers: string;
  tags: string;
}

/** Point with its exact vector. `termIndices` are ascending. */
export interface PointRow {
  id: string;
  fileId: string;
  contentVersion: string;
  vector: Float32Array;
  termIndices: Uint32Array;
  termValues: Float32Array;
  tags: Record<string, string>;
}

/** Decodes rows into points. The numbers of all rows share one buffer, and equal tags share one object. */
export function toPointRows(rows: StoredRow[]): PointRow[] {
  const sizes = rows.map(({ vector_bytes, term_bytes }) => vector_bytes + 2 * term_bytes);
  const buffer = new ArrayBuffer(sizes.reduce((sum, size) => sum + size, 0));
  const bytes = Buffer.from(buffer);
  const tagsByText = new Map<string, Record<string, string>>();
  let start = 0;
  return rows.map((row, index) => {
    bytes.write(row.numbers, start, 'base64');
    const [termStart, valueStart] = [start + row.vector_bytes, start + row.vector_bytes + row.term_bytes];
    const tags = tagsByText.get(row.tags) ?? (JSON.parse(row.tags) as Record<string, string>);
    tagsByText.set(row.tags, tags);
    const point = {
      id: row.id,
      fileId: row.file_id,
      contentVersion: row.content_version,
      vector: new Float32Array(buffer, start, row.vector_bytes / 4),
      termIndices: new Uint32Array(buffer, termStart, row.term_bytes / 4),
      termValues: new Float32Array(buffer, valueStart, row.term_bytes / 4),
      tags,
    };
    start += sizes[index]!;
    return point;
  });
}
