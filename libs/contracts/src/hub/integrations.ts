import { IsArray, IsBoolean, IsIn, IsInt, IsString, IsUrl, Length, Max, MaxLength, Min } from 'class-validator';
import { workspace } from '../access';
import { maxCodeBytes, strictDeployHeader, withCode } from '../code';
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

/** Integration to create or update. Absent fields stay unchanged, or are empty in a new integration. */
export class IntegrationDraft extends IntegrationDefinitionDraft {
  /** Refuses code that cannot be loaded, which is deployed with a warning otherwise. */
  @HeaderFlag(strictDeployHeader) strictDeploy?: boolean;

  /** Stored encrypted. Answers contain the names only. `null` removes a secret. */
  @Optional()
  @MapOf(String, { nullable: true, maxLength: 20_000, key: /^[A-Z][A-Z0-9_]{0,199}$/ })
  secrets?: Record<string, string | null>;

  @Optional() @IsString() @MaxBytes(maxCodeBytes) code?: string;

  /** URL of an integration that runs elsewhere, in place of `code`; `null` clears it. */
  @Nullable()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  @MaxLength(2000)
  url?: string | null;

  @Optional() @IsIn(visibilities) visibility?: Visibility;
  @Optional() @IsArray() @IsString({ each: true }) layers?: string[];

  @Optional()
  @MapOf(String, { nullable: true, maxLength: 200, key: definitionName, maxEntries: 50 })
  attributes?: Record<string, string | null>;

  /** Seconds. */
  @Optional() @IsInt() @Min(1) @Max(3600) maxExecutionTime?: number;
}

export class CreateIntegration extends IntegrationDraft {
  /** `name`, or `handle/name` with the handle of the workspace. */
  @IsString() @Length(1, 200) name!: string;

  /** Semver. */
  @IsString() @Length(1, 200) version!: string;

  /** Development version: accessible by its id only. An invalid base64 icon or readme of it is ignored. */
  @Optional() @IsBoolean() dev?: boolean;
}

export class UpdateIntegration extends IntegrationDraft {
  @PathParam() id!: string;
  @HeaderFlag('x-bypass-breaking-changes-detection') allowBreakingChanges?: boolean;
}

export class IntegrationId {
  @PathParam() id!: string;
}

export class IntegrationNameAndVersion {
  @PathParam({ maxLength: 200 }) name!: string;

  /** A semver version, `latest`, or a range such as `>=1.0.0 <2.0.0`. */
  @PathParam({ maxLength: 200 }) version!: string;
}

export interface Implementation {
  id: string;
  name: string;
  version: string;
  entities: Record<string, { name: string }>;
  actions: Record<string, { name: string }>;
  events: Record<string, { name: string }>;
  channels: Record<string, { name: string }>;
}

export class Integration extends PublicationLabels {
  @JsonObject() identifier!: { fallbackHandlerScript?: string; extractScript?: string };
  @Optional() @JsonObject() sandbox?: { identifierExtractScript?: string; messageExtractScript?: string };
  @Optional() @IsInt() maxExecutionTime?: number;

  /** Empty without a URL, and for other workspaces. */
  @IsString() url!: string;

  /** Returned only once, when the integration is created; empty afterwards. */
  @IsString() signingSecret!: string;

  @JsonObject() interfaces!: Record<string, Implementation>;
  @JsonObject() configuration!: ConfigurationDefinition;
  @JsonObject() configurations!: Record<string, ConfigurationDefinition>;
  @JsonObject() channels!: Record<string, ChannelDefinition>;
  @MapOf(IntegrationState) states!: Record<string, IntegrationState>;
  @MapOf(EventDefinition) events!: Record<string, EventDefinition>;
  @MapOf(ActionDefinition) actions!: Record<string, ActionDefinition>;
  @JsonObject() user!: CreatableDefinition;
  @MapOf(EntityDefinition) entities!: Record<string, EntityDefinition>;
  @IsBoolean() dev!: boolean;
  @IsString() readmeUrl!: string;
  @IsBoolean() public!: boolean;
  @IsIn(visibilities) visibility!: Visibility;
  @IsIn(verificationStatuses) verificationStatus!: VerificationStatus;
  @IsIn(lifecycleStatuses) lifecycleStatus!: LifecycleStatus;

  /** Names of the secrets, without values. Empty for other workspaces. */
  @IsArray() @IsString({ each: true }) secrets!: string[];

  @Optional() @MapOf(String) attributes?: Record<string, string>;
}

export class IntegrationReply {
  @Nested(Integration) integration!: Integration;
}

export class OwnerWorkspace {
  @IsString() id!: string;
  @Nullable() @IsString() handle!: string | null;
  @IsString() name!: string;
}

export class MatchedOn {
  @Optional() @IsBoolean() name?: boolean;
  @Optional() @IsBoolean() title?: boolean;
  @Optional() @IsBoolean() description?: boolean;
  @Optional() @IsArray() @IsString({ each: true }) actions?: string[];
  @Optional() @IsArray() @IsString({ each: true }) interfaces?: string[];
}

export class IntegrationEntry extends PublicationLabels {
  @IsBoolean() public!: boolean;
  @IsIn(visibilities) visibility!: Visibility;
  @IsIn(verificationStatuses) verificationStatus!: VerificationStatus;
  @IsIn(lifecycleStatuses) lifecycleStatus!: LifecycleStatus;

  /** Only in the results of a search. */
  @Optional() @Nested(MatchedOn) matchedOn?: MatchedOn;

  @Nested(OwnerWorkspace) ownerWorkspace!: OwnerWorkspace;
  @Optional() @MapOf(String) attributes?: Record<string, string>;
}

export class ListIntegrations extends ListPublications {
  @QueryString({ maxLength: 36 }) interfaceId?: string;
  @QueryString({ maxLength: 200 }) interfaceName?: string;
  @QueryString({ maxLength: 36 }) installedByBotId?: string;
  @QueryChoice(verificationStatuses) verificationStatus?: VerificationStatus;

  /**
   * Full-text search in name, title, description, actions and interfaces. Results are sorted by relevance unless
   * `sortBy` is given.
   */
  @QueryString({ maxLength: 200 }) search?: string;

  @QueryChoice(['createdAt', 'updatedAt', 'popularity', 'name', 'installCount'])
  sortBy?: 'createdAt' | 'updatedAt' | 'popularity' | 'name' | 'installCount';

  /** Default: `desc`, or `asc` for names. */
  @QueryChoice(['asc', 'desc']) direction?: 'asc' | 'desc';
}

export class ListOwnIntegrations extends ListIntegrations {
  @QueryChoice(['public', 'private']) visibility?: 'public' | 'private';

  /** Filter: development versions (true) or others (false, the default). */
  @QueryBoolean() dev?: boolean;
}

export class Integrations {
  @ListOf(IntegrationEntry) integrations!: IntegrationEntry[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class SigningSecretReply {
  @IsString() newSigningSecret!: string;
}

export class IntegrationToVerify {
  @IsString() @MaxLength(36) integrationId!: string;
}

export const integrations = {
  create: operation({
    subject: 'hub.integrations.create',
    route: 'POST /v1/admin/integrations',
    summary: 'Creates a version of an integration. A public or unlisted one requires the role manager.',
    access: workspace.write,
    input: CreateIntegration,
    isWorkspaceLabelled: true,
    output: IntegrationReply,
    ...withCode,
  }),
  validateCreation: operation({
    subject: 'hub.integrations.validateCreation',
    route: 'POST /v1/admin/integrations/validate',
    summary: 'Validates the creation of an integration without creating it.',
    access: workspace.write,
    input: CreateIntegration,
    isWorkspaceLabelled: true,
    output: Empty,
    ...withCode,
  }),
  update: operation({
    subject: 'hub.integrations.update',
    route: 'PUT /v1/admin/integrations/{id}',
    summary:
      'Updates a version of an integration. Absent fields stay unchanged, `null` removes. A public or unlisted one requires the role manager.',
    access: workspace.write,
    input: UpdateIntegration,
    isWorkspaceLabelled: true,
    output: IntegrationReply,
    ...withCode,
  }),
  validateUpdate: operation({
    subject: 'hub.integrations.validateUpdate',
    route: 'PUT /v1/admin/integrations/{id}/validate',
    summary: 'Validates the update of an integration without applying it.',
    access: workspace.write,
    input: UpdateIntegration,
    isWorkspaceLabelled: true,
    output: Empty,
    ...withCode,
  }),
  delete: operation({
    subject: 'hub.integrations.delete',
    route: 'DELETE /v1/admin/integrations/{id}',
    summary:
      'Deletes a version of an integration that no bot has installed. A public or unlisted one requires the role manager.',
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
    otherBotField: 'installedByBotId',
    output: Integrations,
  }),
  requestVerification: operation({
    subject: 'hub.integrations.requestVerification',
    route: 'POST /v1/admin/integrations/request-verification',
    summary: 'Requests the verification of an integration.',
    access: workspace.manage,
    input: IntegrationToVerify,
    output: Empty,
  }),
  rotateSigningSecrets: operation({
    subject: 'hub.integrations.rotateSigningSecrets',
    route: 'POST /v1/admin/integrations/{id}/signing-secrets/rotate',
    summary: 'Creates a new signing secret and returns it once. The previous one stays valid for 24 hours.',
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
