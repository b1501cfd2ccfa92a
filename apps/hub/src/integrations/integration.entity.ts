import type {
  Implementation,
  Integration,
  IntegrationEntry,
  MatchedOn,
  OwnerWorkspace,
} from '@parley/contracts/hub/integrations';
import type { HubCounters, PublicIntegration, PublicIntegrationEntry } from '@parley/contracts/hub/public-integrations';
import type { LifecycleStatus, VerificationStatus } from '@parley/contracts/hub/publication';
import { mapEntries } from '@parley/contracts/entries';
import { toLabels } from '../publishing/labels';
import type { PublicationRow } from '../publishing/publications.repository';
import { hasWord, searchedWords } from '../publishing/search-words';
import type { ConfigurationDefinition, IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import type { InstallableIntegration } from '@parley/contracts/hub/resolution';
import { shownConfigurationSchema } from '@parley/contracts/schemas';

export interface IntegrationEntryRow extends PublicationRow {
  attributes: Record<string, string> | null;
  verification_status: VerificationStatus;
  lifecycle_status: LifecycleStatus;
}

export interface IntegrationRow extends IntegrationEntryRow {
  dev: boolean;
  url: string | null;
  definition: IntegrationDefinition;
  sdk_version: string | null;
  layers: string[];
  max_execution_time: number | null;
  has_code: boolean;
  /** Encrypted values by name. */
  secrets: Record<string, string>;
  interfaces: Record<string, Implementation>;
}

interface OwnerColumns {
  owner_name: string;
  owner_handle: string | null;
}

interface CounterColumns {
  installs: number;
  /** Text: a `bigint`. */
  views: string;
}

export type PublishedRow = IntegrationRow & OwnerColumns & CounterColumns;

/** Row of a list, with counters as of the list's snapshot. */
export type ListedRow = IntegrationEntryRow &
  OwnerColumns &
  CounterColumns & { action_names: string[]; interface_names: string[] };

/** Public view of an integration: omits its url and its secrets. */
export function toPublicIntegration(row: PublishedRow): PublicIntegration {
  return {
    ...toIntegration(row),
    url: '',
    secrets: [],
    ownerWorkspace: toOwner(row),
    meta: toCounters(row),
  };
}

/** @param search marks the matches of this search. */
export function toEntry(row: ListedRow, search?: string): IntegrationEntry {
  const { readmeUrl: _notListed, ...summary } = toSummary(row);
  return {
    ...summary,
    public: row.visibility === 'public',
    ownerWorkspace: toOwner(row),
    attributes: row.attributes ?? undefined,
    ...(search === undefined ? {} : { matchedOn: toMatches(row, search) }),
  };
}

export function toPublicEntry(row: ListedRow, search?: string): PublicIntegrationEntry {
  return { ...toEntry(row, search), meta: toCounters(row) };
}

function toOwner(row: IntegrationEntryRow & OwnerColumns): OwnerWorkspace {
  return { id: row.workspace_id, handle: row.owner_handle, name: row.owner_name };
}

function toCounters({ installs, views }: CounterColumns): HubCounters {
  return { installs, views: Number(views) };
}

function toMatches(row: ListedRow, search: string): MatchedOn {
  const words = searchedWords(search);
  return {
    name: hasWord(row.name, words) || row.name.toLowerCase().includes(search.trim().toLowerCase()),
    title: hasWord(row.title, words),
    description: hasWord(row.description, words),
    actions: row.action_names.filter((name) => hasWord(name, words)),
    interfaces: row.interface_names.filter((name) => hasWord(name, words)),
  };
}

export function toIntegration(row: IntegrationRow, signingSecret = ''): Integration {
  const { sandbox, extraOperations: _internal, ...definition } = row.definition;
  return {
    ...definition,
    configuration: toConfiguration(definition.configuration),
    configurations: mapEntries(definition.configurations, toConfiguration),
    ...(Object.keys(sandbox).length > 0 ? { sandbox } : {}),
    ...toSummary(row),
    maxExecutionTime: row.max_execution_time ?? undefined,
    url: row.url ?? '',
    signingSecret,
    interfaces: row.interfaces,
    dev: row.dev,
    public: row.visibility === 'public',
    secrets: Object.keys(row.secrets).sort(),
    attributes: row.attributes ?? undefined,
  };
}

function toConfiguration(configuration: ConfigurationDefinition): ConfigurationDefinition {
  return { ...configuration, schema: shownConfigurationSchema(configuration.schema) };
}

export function toInstallable(row: IntegrationRow): InstallableIntegration {
  const { configuration, configurations, channels, states } = row.definition;
  return {
    ...toSummary(row),
    configurationSchema: configuration.schema,
    configurationSchemas: mapEntries(configurations, ({ schema }) => schema),
    channels: Object.keys(channels),
    states,
    isCallable: row.url !== null || row.has_code,
    interfaces: mapEntries(row.interfaces, ({ id }) => id),
  };
}

function toSummary(row: IntegrationEntryRow) {
  return {
    ...toLabels(row),
    visibility: row.visibility,
    verificationStatus: row.verification_status,
    lifecycleStatus: row.lifecycle_status,
  };
}
