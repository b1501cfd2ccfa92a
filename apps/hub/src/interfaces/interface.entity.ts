import type { InterfaceChannel, InterfaceDefinition, InterfaceDraft } from '@parley/contracts/hub/interface-definition';
import type { Interface, InterfaceEntry } from '@parley/contracts/hub/interfaces';
import { mapChange, mergeEntries, ownEntry, withoutNullAttributes } from '@parley/contracts/entries';
import { toLabels } from '../publishing/labels';
import type { PublicationRow } from '../publishing/publications.repository';

export interface InterfaceRow extends PublicationRow {
  definition: InterfaceDefinition;
}

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
