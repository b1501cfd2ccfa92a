import type { FoundPassage, PassageContext, PassageFile, SearchFiles } from '@parley/contracts/passage-search';
import type { FoundRow } from '../store/found-passages.repository';

export function toFoundPassage(row: FoundRow, { withContext, includeBreadcrumb }: SearchFiles): FoundPassage {
  return {
    content: withContext || !includeBreadcrumb ? row.content : withBreadcrumb(row.breadcrumb, row.content),
    score: row.score,
    meta: {
      type: row.type,
      subtype: row.subtype,
      pageNumber: row.page_number ?? undefined,
      ocr: row.is_recognised || undefined,
      position: row.position,
    },
    file: toPassageFile(row),
    context: withContext ? contextOf(row, includeBreadcrumb ?? false) : undefined,
  };
}

export function toPassageFile(row: FoundRow): PassageFile {
  return {
    id: row.file_id,
    key: row.key,
    contentType: row.content_type,
    metadata: row.metadata,
    tags: row.tags,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

export function withBreadcrumb(breadcrumb: string[], text: string): string {
  return breadcrumb.length === 0 ? text : `${breadcrumb.join(' > ')}\n\n${text}`;
}

function contextOf({ position, breadcrumb, neighbours }: FoundRow, includeBreadcrumb: boolean): PassageContext[] {
  const passages = neighbours.map((neighbour): PassageContext => {
    const offset = neighbour.position - position;
    const type = offset === 0 ? 'current' : offset < 0 ? 'preceding' : 'subsequent';
    return { id: neighbour.id, text: neighbour.content, offset, type };
  });
  if (!includeBreadcrumb || breadcrumb.length === 0) return passages;
  return [{ text: breadcrumb.join(' > '), type: 'breadcrumb' }, ...passages];
}
