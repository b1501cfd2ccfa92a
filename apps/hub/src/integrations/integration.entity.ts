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
import { Check, Column, Entity, Index } from 'typeorm';
import { installedLabels, toLabels } from '../publishing/labels';
import { PublicationEntity, type PublicationRow } from '../publishing/publication.entity';
import { hasWord, searchedWords } from '../publishing/search-words';
import type { ConfigurationDefinition, IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import type { InstallableIntegration } from '@parley/contracts/hub/resolution';
import { shownConfigurationSchema } from '@parley/contracts/schemas';
import { enabledOperations } from './definition';

/** Version of an integration. */
@Entity('integration')
@Check('integration_visibility_check', "visibility IN ('public', 'private', 'unlisted')")
@Check(
  'integration_verification_status_check',
  "verification_status IN ('unapproved', 'pending', 'approved', 'rejected')",
)
@Check('integration_lifecycle_status_check', "lifecycle_status IN ('published', 'deprecated')")
@Index('integration_name', ['workspace_id', 'name', 'version'], { unique: true, where: 'NOT dev' })
@Index('integration_workspace', ['workspace_id', 'created_at', 'id'])
@Index('integration_by_name', ['name'], { where: 'NOT dev' })
@Index('integration_published', ['name'], { where: "NOT dev AND visibility <> 'private'" })
@Index('integration_listed', ['name'], { unique: true, where: 'is_listed' })
@Index('integration_search', ['search'], { type: 'gin' })
@Index('integration_listed_created', ['created_at', 'id'], { where: 'is_listed' })
export class IntegrationEntity extends PublicationEntity {
  @Column('boolean') dev!: boolean;
  @Column('text', { nullable: true }) url!: string | null;

  /** `json`, not `jsonb`: keeps the order of properties in schemas. */
  @Column('json') definition!: IntegrationDefinition;

  @Column('jsonb', { nullable: true }) attributes!: Record<string, string> | null;
  @Column('text', { array: true, default: [] }) layers!: string[];
  @Column('integer', { nullable: true }) max_execution_time!: number | null;
  @Column('boolean', { default: false }) has_code!: boolean;

  /** Data URL, or empty; so is `readme_url`. */
  @Column('text', { default: '' }) icon_url!: string;

  @Column('text', { default: '' }) readme_url!: string;

  /** Encrypted. */
  @Column('text') signing_secret!: string;

  /** Former secret, encrypted. Accepts signatures from before a rotation until `previous_signing_secret_until`. */
  @Column('text', { nullable: true }) previous_signing_secret!: string | null;

  @Column({ type: 'timestamptz', precision: 3, nullable: true }) previous_signing_secret_until!: Date | null;

  /** Encrypted values by name. */
  @Column('jsonb') secrets!: Record<string, string>;

  /** Bots of other workspaces may have it installed, even after it became private again. */
  @Column('boolean', { default: false }) was_published!: boolean;

  @Column('text', { default: 'unapproved' }) verification_status!: VerificationStatus;
  @Column('text', { default: 'published' }) lifecycle_status!: LifecycleStatus;

  /** Shown in the hub's list: the highest public release of its name. */
  @Column('boolean', { default: false }) is_listed!: boolean;

  /** Search index of name, title, description, actions and interfaces. */
  @Column('tsvector') search!: string;

  /** Names of actions, which a search matches. */
  @Column('text', { array: true, default: [] }) action_names!: string[];
}

export type IntegrationEntryRow = PublicationRow &
  Pick<IntegrationEntity, 'attributes' | 'verification_status' | 'lifecycle_status'>;

/** Integration with the interfaces that it implements, by alias. */
export type IntegrationRow = IntegrationEntryRow &
  Pick<
    IntegrationEntity,
    'dev' | 'url' | 'definition' | 'sdk_version' | 'layers' | 'max_execution_time' | 'has_code' | 'secrets'
  > & { interfaces: Record<string, Implementation> };

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
  CounterColumns &
  Pick<IntegrationEntity, 'action_names'> & { interface_names: string[] };

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
  const { configuration, configurations, channels, states, extraOperations } = row.definition;
  const summary = toSummary(row);
  return {
    ...summary,
    ...installedLabels(summary),
    configurationSchema: configuration.schema,
    configurationSchemas: mapEntries(configurations, ({ schema }) => schema),
    channels: Object.keys(channels),
    states,
    extraOperations: enabledOperations(extraOperations),
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
