import { IsArray, IsBoolean, IsIn, IsInt, IsString, IsUrl, Length, Max, MaxLength, Min } from 'class-validator';
import { workspace } from '../access';
import { maxCodeBytes, withCode } from '../code';
import { ActionDefinition, definitionName, EntityDefinition, EventDefinition } from '../definition';
import { JsonObject, ListOf, MapOf, MaxBytes, Nested, Nullable, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta } from '../paging';
import { HeaderFlag, PathParam, QueryBoolean, QueryChoice, QueryString } from '../query-fields';
import {
  type ChannelDefinition,
  type ConfigurationDefinition,
  type CreatableDefinition,
  IntegrationDefinitionDraft,
  IntegrationState,
} from './integration-definition';
import {
  type LifecycleStatus,
  lifecycleStatuses,
  ListPublications,
  PublicationLabels,
  type VerificationStatus,
  verificationStatuses,
  type Visibility,
  visibilities,
} from './publication';

/** What may be said of an integration: what is absent stays, or is empty in a new one. */
export class IntegrationDraft extends IntegrationDefinitionDraft {
  /** Kept encrypted; only their names are ever shown. `null` removes one. */
  @Optional()
  @MapOf(String, { nullable: true, maxLength: 20_000, key: /^[A-Z][A-Z0-9_]{0,199}$/ })
  secrets?: Record<string, string | null>;

  @Optional()
  @IsString()
  @MaxBytes(maxCodeBytes)
  code?: string;

  /** Where the integration itself answers, in place of code; `null` clears it. */
  @Nullable()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  @MaxLength(2000)
  url?: string | null;

  @Optional()
  @IsIn(visibilities)
  visibility?: Visibility;

  @Optional()
  @IsArray()
  @IsString({ each: true })
  layers?: string[];

  @Optional()
  @MapOf(String, { nullable: true, maxLength: 200, key: definitionName, maxEntries: 50 })
  attributes?: Record<string, string | null>;

  /** Seconds. */
  @Optional()
  @IsInt()
  @Min(1)
  @Max(3600)
  maxExecutionTime?: number;
}

export class CreateIntegration extends IntegrationDraft {
  /** `name`, or `handle/name` with the handle of the workspace. */
  @IsString()
  @Length(1, 200)
  name!: string;

  /** Semver. */
  @IsString()
  @Length(1, 200)
  version!: string;

  /** One under development: found by its id only. An icon or readme of it that is not base64 is ignored. */
  @Optional()
  @IsBoolean()
  dev?: boolean;
}

export class UpdateIntegration extends IntegrationDraft {
  @PathParam()
  id!: string;

  @HeaderFlag('x-bypass-breaking-changes-detection')
  allowBreakingChanges?: boolean;
}

export class IntegrationId {
  @PathParam()
  id!: string;
}

export class IntegrationNameAndVersion {
  @PathParam({ maxLength: 200 })
  name!: string;

  /** A semver version, `latest`, or a range such as `>=1.0.0 <2.0.0`. */
  @PathParam({ maxLength: 200 })
  version!: string;
}

/** An interface as an integration implements it. */
export interface Implementation {
  id: string;
  name: string;
  version: string;
  entities: Record<string, { name: string }>;
  actions: Record<string, { name: string }>;
  events: Record<string, { name: string }>;
  channels: Record<string, { name: string }>;
}

/** One version of an integration, with all that it declares. */
export class Integration extends PublicationLabels {
  @JsonObject()
  identifier!: { fallbackHandlerScript?: string; extractScript?: string };

  @Optional()
  @JsonObject()
  sandbox?: { identifierExtractScript?: string; messageExtractScript?: string };

  @Optional()
  @IsInt()
  maxExecutionTime?: number;

  /** Empty when it has none, and for everybody outside of its workspace. */
  @IsString()
  url!: string;

  /** Shown once, when the integration is created; empty from then on. */
  @IsString()
  signingSecret!: string;

  @JsonObject()
  interfaces!: Record<string, Implementation>;

  @JsonObject()
  configuration!: ConfigurationDefinition;

  @JsonObject()
  configurations!: Record<string, ConfigurationDefinition>;

  @JsonObject()
  channels!: Record<string, ChannelDefinition>;

  @MapOf(IntegrationState)
  states!: Record<string, IntegrationState>;

  @MapOf(EventDefinition)
  events!: Record<string, EventDefinition>;

  @MapOf(ActionDefinition)
  actions!: Record<string, ActionDefinition>;

  @JsonObject()
  user!: CreatableDefinition;

  @MapOf(EntityDefinition)
  entities!: Record<string, EntityDefinition>;

  @IsBoolean()
  dev!: boolean;

  @IsString()
  readmeUrl!: string;

  @IsBoolean()
  public!: boolean;

  @IsIn(visibilities)
  visibility!: Visibility;

  @IsIn(verificationStatuses)
  verificationStatus!: VerificationStatus;

  @IsIn(lifecycleStatuses)
  lifecycleStatus!: LifecycleStatus;

  /** Names only, and none outside of its workspace. */
  @IsArray()
  @IsString({ each: true })
  secrets!: string[];

  @Optional()
  @MapOf(String)
  attributes?: Record<string, string>;
}

export class IntegrationReply {
  @Nested(Integration)
  integration!: Integration;
}

export class OwnerWorkspace {
  @IsString()
  id!: string;

  @Nullable()
  @IsString()
  handle!: string | null;

  @IsString()
  name!: string;
}

/** Where the words of a search stand. */
export class MatchedOn {
  @Optional()
  @IsBoolean()
  name?: boolean;

  @Optional()
  @IsBoolean()
  title?: boolean;

  @Optional()
  @IsBoolean()
  description?: boolean;

  /** Names of the actions that have one of them. */
  @Optional()
  @IsArray()
  @IsString({ each: true })
  actions?: string[];

  @Optional()
  @IsArray()
  @IsString({ each: true })
  interfaces?: string[];
}

/** An integration as lists show it. */
export class IntegrationEntry extends PublicationLabels {
  @IsBoolean()
  public!: boolean;

  @IsIn(visibilities)
  visibility!: Visibility;

  @IsIn(verificationStatuses)
  verificationStatus!: VerificationStatus;

  @IsIn(lifecycleStatuses)
  lifecycleStatus!: LifecycleStatus;

  /** Only of a search. */
  @Optional()
  @Nested(MatchedOn)
  matchedOn?: MatchedOn;

  @Nested(OwnerWorkspace)
  ownerWorkspace!: OwnerWorkspace;

  @Optional()
  @MapOf(String)
  attributes?: Record<string, string>;
}

export class ListIntegrations extends ListPublications {
  @QueryString({ maxLength: 36 })
  interfaceId?: string;

  @QueryString({ maxLength: 200 })
  interfaceName?: string;

  @QueryString({ maxLength: 36 })
  installedByBotId?: string;

  @QueryChoice(verificationStatuses)
  verificationStatus?: VerificationStatus;

  /** Words of the name, title, description, actions and interfaces; the best matches come first unless sorted. */
  @QueryString({ maxLength: 200 })
  search?: string;

  @QueryChoice(['createdAt', 'updatedAt', 'popularity', 'name', 'installCount'])
  sortBy?: 'createdAt' | 'updatedAt' | 'popularity' | 'name' | 'installCount';

  /** Descending unless it says otherwise; names ascend. */
  @QueryChoice(['asc', 'desc'])
  direction?: 'asc' | 'desc';
}

export class ListOwnIntegrations extends ListIntegrations {
  @QueryChoice(['public', 'private'])
  visibility?: 'public' | 'private';

  /** Only what is under development, or only what is not, which is the default. */
  @QueryBoolean()
  dev?: boolean;
}

export class Integrations {
  @ListOf(IntegrationEntry)
  integrations!: IntegrationEntry[];

  @Nested(PageMeta)
  meta!: PageMeta;
}

export class SigningSecretReply {
  @IsString()
  newSigningSecret!: string;
}

export class IntegrationToVerify {
  @IsString()
  @MaxLength(36)
  integrationId!: string;
}

export const integrations = {
  create: operation({
    subject: 'hub.integrations.create',
    route: 'POST /v1/admin/integrations',
    summary: 'Creates a version of an integration. Publishing it takes the role manager.',
    access: workspace.write,
    input: CreateIntegration,
    output: IntegrationReply,
    ...withCode,
  }),
  validateCreation: operation({
    subject: 'hub.integrations.validateCreation',
    route: 'POST /v1/admin/integrations/validate',
    summary: 'Says what would keep an integration from being created, and creates nothing.',
    access: workspace.write,
    input: CreateIntegration,
    output: Empty,
    ...withCode,
  }),
  update: operation({
    subject: 'hub.integrations.update',
    route: 'PUT /v1/admin/integrations/{id}',
    summary:
      'Changes a version of an integration: what is absent stays, `null` removes. A published one takes the role manager.',
    access: workspace.write,
    input: UpdateIntegration,
    output: IntegrationReply,
    ...withCode,
  }),
  validateUpdate: operation({
    subject: 'hub.integrations.validateUpdate',
    route: 'PUT /v1/admin/integrations/{id}/validate',
    summary: 'Says what would keep an integration from being changed, and changes nothing.',
    access: workspace.write,
    input: UpdateIntegration,
    output: Empty,
    ...withCode,
  }),
  delete: operation({
    subject: 'hub.integrations.delete',
    route: 'DELETE /v1/admin/integrations/{id}',
    summary: 'Deletes a version of an integration that no bot has installed. A published one takes the role manager.',
    access: workspace.write,
    input: IntegrationId,
    output: Empty,
  }),
  list: operation({
    subject: 'hub.integrations.list',
    route: 'GET /v1/admin/integrations',
    summary: 'Lists the integrations of the workspace with all their versions, newest first unless sorted otherwise.',
    access: workspace.read,
    input: ListOwnIntegrations,
    output: Integrations,
  }),
  requestVerification: operation({
    subject: 'hub.integrations.requestVerification',
    route: 'POST /v1/admin/integrations/request-verification',
    summary: 'Asks for an integration to be verified.',
    access: workspace.manage,
    input: IntegrationToVerify,
    output: Empty,
  }),
  rotateSigningSecrets: operation({
    subject: 'hub.integrations.rotateSigningSecrets',
    route: 'POST /v1/admin/integrations/{id}/signing-secrets/rotate',
    summary: 'Makes a new signing secret and shows it once. The one before it stays good for a day.',
    access: workspace.manage,
    input: IntegrationId,
    output: SigningSecretReply,
  }),
  get: operation({
    subject: 'hub.integrations.get',
    route: 'GET /v1/admin/integrations/{id}',
    summary: 'Gets a version of an integration of the workspace.',
    access: workspace.readAlsoByIntegration,
    input: IntegrationId,
    output: IntegrationReply,
  }),
  getByName: operation({
    subject: 'hub.integrations.getByName',
    route: 'GET /v1/admin/integrations/{name}/{version}',
    summary: 'Gets an integration of the workspace by name and version.',
    access: workspace.read,
    input: IntegrationNameAndVersion,
    output: IntegrationReply,
  }),
};
