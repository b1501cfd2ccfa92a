import { IsArray, IsBoolean, IsIn, IsInt, IsString, IsUrl, Length, Max, MaxLength, Min } from 'class-validator';
import { workspace } from '../access';
import { ActionDefinition, EntityDefinition, EventDefinition } from '../definition';
import { JsonObject, MapOf, Nested, Nullable, Optional } from '../fields';
import { operation } from '../operation';
import { HeaderFlag, PathParam } from '../query-fields';
import {
  type ChannelDefinition,
  type ConfigurationDefinition,
  type CreatableDefinition,
  IntegrationDefinitionDraft,
  IntegrationState,
} from './integration-definition';

export const visibilities = ['public', 'private', 'unlisted'] as const;
export type Visibility = (typeof visibilities)[number];
export const verificationStatuses = ['unapproved', 'pending', 'approved', 'rejected'] as const;
export type VerificationStatus = (typeof verificationStatuses)[number];

/** What may be said of an integration: what is absent stays, or is empty in a new one. */
export class IntegrationDraft extends IntegrationDefinitionDraft {
  @Optional()
  @IsString()
  @MaxLength(200)
  sdkVersion?: string;

  /** Kept encrypted; only their names are ever shown. `null` removes one. */
  @Optional()
  @MapOf(String, { nullable: true, maxLength: 20_000, key: /^[A-Z][A-Z0-9_]{0,199}$/ })
  secrets?: Record<string, string | null>;

  @Optional()
  @IsString()
  @MaxLength(50_000_000)
  code?: string;

  /** Where the integration itself answers, in place of code; `null` clears it. */
  @Nullable()
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true })
  @MaxLength(2000)
  url?: string | null;

  /** An image, in base64. */
  @Optional()
  @IsString()
  @MaxLength(2_000_000)
  icon?: string;

  /** Markdown, in base64. */
  @Optional()
  @IsString()
  @MaxLength(2_000_000)
  readme?: string;

  @Optional()
  @IsString()
  @Length(1, 64)
  title?: string;

  @Optional()
  @IsString()
  @MaxLength(256)
  description?: string;

  /** What older clients say in place of `visibility`, which wins. */
  @Optional()
  @IsBoolean()
  public?: boolean;

  @Optional()
  @IsIn(visibilities)
  visibility?: Visibility;

  @Optional()
  @IsArray()
  @IsString({ each: true })
  layers?: string[];

  @Optional()
  @MapOf(String, { nullable: true, maxLength: 200 })
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

  /** One under development: found by its id only. */
  @Optional()
  @IsBoolean()
  dev?: boolean;
}

export class UpdateIntegration extends IntegrationDraft {
  @PathParam()
  id!: string;

  @HeaderFlag('x-bypass-breaking-changes-detection')
  allowBreakingChanges!: boolean;
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
export class Integration {
  @IsString()
  id!: string;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;

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

  @IsString()
  name!: string;

  @IsString()
  version!: string;

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
  title!: string;

  @IsString()
  description!: string;

  @IsString()
  iconUrl!: string;

  @IsString()
  readmeUrl!: string;

  @IsBoolean()
  public!: boolean;

  @IsIn(visibilities)
  visibility!: Visibility;

  @IsIn(verificationStatuses)
  verificationStatus!: VerificationStatus;

  @IsIn(['published', 'deprecated'])
  lifecycleStatus!: 'published' | 'deprecated';

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
export class IntegrationEntry {
  @IsString()
  id!: string;

  @IsString()
  name!: string;

  @IsString()
  version!: string;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;

  @IsString()
  title!: string;

  @IsString()
  description!: string;

  @IsString()
  iconUrl!: string;

  @IsBoolean()
  public!: boolean;

  @IsIn(visibilities)
  visibility!: Visibility;

  @IsIn(verificationStatuses)
  verificationStatus!: VerificationStatus;

  @IsIn(['published', 'deprecated'])
  lifecycleStatus!: 'published' | 'deprecated';

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

export class SigningSecretReply {
  @IsString()
  newSigningSecret!: string;
}

export class IntegrationToVerify {
  @IsString()
  @MaxLength(36)
  integrationId!: string;
}

const withCode = { bodyLimitBytes: 64_000_000, timeoutMs: 30_000 };

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
