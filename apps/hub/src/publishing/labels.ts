import type { PublicationDraft, PublicationLabels } from '@parley/contracts/hub/publication';
import { isBase64, toIconUrl, toReadmeUrl } from './attachments';
import type { PublicationRow } from './publication.entity';

export type LabelColumns = Pick<PublicationRow, 'title' | 'description' | 'icon_url' | 'readme_url'>;

export function newLabels(name: string): LabelColumns {
  return { title: name.slice(0, 64), description: '', icon_url: '', readme_url: '' };
}

/** Merges a draft into the labels; absent fields stay. Throws InvalidPayload as `toIconUrl` and `toReadmeUrl` do. */
export function changeLabels(draft: PublicationDraft, old: LabelColumns): LabelColumns {
  return {
    title: draft.title ?? old.title,
    description: draft.description ?? old.description,
    icon_url: draft.icon === undefined ? old.icon_url : toIconUrl(draft.icon),
    readme_url: draft.readme === undefined ? old.readme_url : toReadmeUrl(draft.readme),
  };
}

/** Drops an icon and a readme that are not base64: `bp dev` sends the names of the files. */
export function withoutFileNames<T extends PublicationDraft>(draft: T): T {
  const { icon, readme } = draft;
  return {
    ...draft,
    icon: icon === undefined || isBase64(icon) ? icon : undefined,
    readme: readme === undefined || isBase64(readme) ? readme : undefined,
  };
}

/** Data URL of 100 KiB. */
const maxInstalledLength = 140_000;

/** Labels that each bot keeps of what it has installed, without large icons and readmes. */
export function installedLabels({ iconUrl, readmeUrl }: { iconUrl: string; readmeUrl: string }) {
  const shortOrEmpty = (url: string) => (url.length > maxInstalledLength ? '' : url);
  return { iconUrl: shortOrEmpty(iconUrl), readmeUrl: shortOrEmpty(readmeUrl) };
}

export function toLabels(row: PublicationRow): PublicationLabels & { readmeUrl: string } {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    name: row.name,
    version: row.version,
    title: row.title,
    description: row.description,
    iconUrl: row.icon_url,
    readmeUrl: row.readme_url,
  };
}
