import type { InterfaceChannel, InterfaceDefinition, InterfaceDraft } from '@parley/contracts/hub/interface-definition';
import type { Interface, InterfaceEntry } from '@parley/contracts/hub/interfaces';
import { mapChange, mergeEntries, ownEntry, withoutNullAttributes } from '@parley/contracts/entries';
import { Check, Column, Entity, Index, Unique } from 'typeorm';
import { toLabels } from '../publishing/labels';
import { PublicationEntity, type PublicationRow } from '../publishing/publication.entity';

/** Version of an interface. */
@Entity('interface')
@Unique('interface_version', ['name', 'workspace_id', 'version'])
@Check('interface_visibility_check', "visibility IN ('public', 'private')")
@Index('interface_of_workspace', ['workspace_id', 'created_at', 'id'])
@Index('interface_public', ['created_at', 'id'], { where: "visibility = 'public'" })
export class InterfaceEntity extends PublicationEntity {
  /** Data URL, or empty; so is `readme_url`. */
  @Column('text') icon_url!: string;

  @Column('text') readme_url!: string;

  /** `json`, not `jsonb`: keeps the order of properties in schemas. */
  @Column('json') definition!: InterfaceDefinition;
}

export type InterfaceRow = PublicationRow & Pick<InterfaceEntity, 'definition'>;

const empty: InterfaceDefinition = { entities: {}, events: {}, actions: {}, channels: {}, attributes: {} };

/** Merges a draft into a definition: named entries are replaced, `null` removes them; channels are merged. */
export function changeDefinition(draft: InterfaceDraft, old = empty): InterfaceDefinition {
  const { nameTemplate = old.nameTemplate } = draft;
  const channels = mapChange(draft.channels, (channel, name): InterfaceChannel => {
    const before = ownEntry(old.channels, name);
    return { ...before, ...channel, messages: mergeEntries(before?.messages ?? {}, channel.messages) };
  });
  return {
    entities: mergeEntries(old.entities, draft.entities),
    events: mergeEntries(old.events, withoutNullAttributes(draft.events)),
    actions: mergeEntries(old.actions, withoutNullAttributes(draft.actions)),
    channels: mergeEntries(old.channels, channels),
    ...(nameTemplate ? { nameTemplate } : {}),
    attributes: mergeEntries(old.attributes, draft.attributes),
  };
}

export function toInterface({ definition, ...row }: InterfaceRow): Interface {
  const { attributes, ...parts } = definition;
  return {
    ...toInterfaceEntry(row),
    ...parts,
    ...(Object.keys(attributes).length > 0 ? { attributes } : {}),
  };
}

export function toInterfaceEntry(row: PublicationRow): InterfaceEntry {
  return {
    ...toLabels(row),
    public: row.visibility === 'public',
  };
}
