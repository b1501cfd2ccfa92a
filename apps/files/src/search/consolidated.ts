import type { FoundPassage, SearchFiles } from '@parley/contracts/passage-search';
import type { FoundRow, Neighbour } from '../store/found-passages.repository';
import { toPassageFile, withBreadcrumb } from './found-passage';

const gap = '\n\n[…]\n\n';

/** One passage per file: its hits with their neighbours, in document order. Best file first. */
export function consolidated(rows: FoundRow[], { includeBreadcrumb }: SearchFiles): FoundPassage[] {
  const files = new Map<string, FoundRow[]>();
  for (const row of rows) files.set(row.file_id, [...(files.get(row.file_id) ?? []), row]);
  return [...files.values()].map((found) => {
    const best = found[0]!;
    const parts = inOrder(found);
    const text = parts.map(({ content }, index) => separator(parts, index) + content).join('');
    const first = found.reduce((least, row) => (row.position < least.position ? row : least));
    return {
      content: includeBreadcrumb ? withBreadcrumb(first.breadcrumb, text) : text,
      score: best.score,
      meta: {
        type: 'consolidated',
        subtype: best.subtype,
        pageNumber: first.page_number ?? undefined,
        ocr: found.some((row) => row.is_recognised) || undefined,
        position: parts[0]?.position ?? best.position,
      },
      file: toPassageFile(best),
    };
  });
}

function inOrder(found: FoundRow[]): Neighbour[] {
  const byPosition = new Map<number, Neighbour>();
  for (const { neighbours } of found) for (const neighbour of neighbours) byPosition.set(neighbour.position, neighbour);
  return [...byPosition.values()].sort((a, b) => a.position - b.position);
}

function separator(parts: Neighbour[], index: number): string {
  if (index === 0) return '';
  return parts[index]!.position === parts[index - 1]!.position + 1 ? '\n\n' : gap;
}
