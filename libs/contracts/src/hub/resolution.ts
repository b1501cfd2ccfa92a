import { IsArray, IsBoolean, IsIn, IsString } from 'class-validator';
import { service } from '../access';
import type { ActionDefinition, EventDefinition, StateDefinition, TagDefinition } from '../definition';
import { JsonObject, ListOf, MapOf, Nullable, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import type { IntegrationState } from './integration-definition';
import {
  type LifecycleStatus,
  lifecycleStatuses,
  PublicationLabels,
  type VerificationStatus,
  verificationStatuses,
  type Visibility,
  visibilities,
} from './publication';

export class HubSummary extends PublicationLabels {
  @IsString() readmeUrl!: string;
  @IsIn(visibilities) visibility!: Visibility;

  /** Integrations only; plugins are never verified. */
  @IsIn(verificationStatuses) verificationStatus!: VerificationStatus;

  @IsIn(lifecycleStatuses) lifecycleStatus!: LifecycleStatus;
}

export class InstallableIntegration extends HubSummary {
  /** JSON Schema of the configuration. */
  @JsonObject() configurationSchema!: Record<string, unknown>;

  /** JSON Schemas of the additional configurations, by configuration type. */
  @JsonObject() configurationSchemas!: Record<string, Record<string, unknown>>;

  @IsArray() @IsString({ each: true }) channels!: string[];
  @JsonObject() states!: Record<string, IntegrationState>;

  /** Names of the enabled opt-in operations. */
  @IsArray() @IsString({ each: true }) extraOperations!: string[];

  /** True with a URL or code: then the platform notifies the integration of its installation. */
  @IsBoolean() isCallable!: boolean;

  /** Version ids of the implemented interfaces, by alias. */
  @JsonObject() interfaces!: Record<string, string>;
}

export class ResolveIntegrations {
  /** Workspace whose private integrations are included. */
  @IsString() workspaceId!: string;

  @IsArray() @IsString({ each: true }) ids!: string[];

  /**
   * Version ids that the bot has already installed. Those of `ids` among them are found as long as they exist,
   * regardless of their current visibility.
   */
  @IsArray() @IsString({ each: true }) installedIds!: string[];
}

export class InstallableIntegrations {
  /** Existing integrations that the workspace may install or the bot has installed, in any order. */
  @ListOf(InstallableIntegration) integrations!: InstallableIntegration[];
}

/** Integration of the bot that implements an interface which a plugin depends on. */
export class InterfaceBinding {
  @IsString() integrationId!: string;

  /** Alias of the interface within the integration; optional when the integration implements it once. */
  @Optional() @IsString() integrationInterfaceAlias?: string;
}

export class PluginToResolve {
  /** Alias of the plugin in the bot. */
  @IsString() alias!: string;

  @IsString() id!: string;
  @MapOf(InterfaceBinding) interfaces!: Record<string, InterfaceBinding>;
}

export class ResolvePlugins {
  @IsString() workspaceId!: string;
  @ListOf(PluginToResolve) plugins!: PluginToResolve[];

  /**
   * Version ids of plugins and integrations that the bot has already installed: they are found regardless of their
   * current visibility.
   */
  @IsArray() @IsString({ each: true }) installedIds!: string[];
}

/** Plugin with the entity references of its schemas replaced by those of the bound integrations. */
export class InstallablePlugin extends HubSummary {
  @IsString() alias!: string;
  @JsonObject() configurationSchema!: Record<string, unknown>;

  /** By the name that the plugin declares; the bot adds its alias as a prefix. */
  @JsonObject() states!: Record<string, StateDefinition>;

  @JsonObject() events!: Record<string, EventDefinition>;
  @JsonObject() actions!: Record<string, ActionDefinition>;
  @JsonObject() userTags!: Record<string, TagDefinition>;
  @JsonObject() conversationTags!: Record<string, TagDefinition>;
  @JsonObject() messageTags!: Record<string, TagDefinition>;

  /** Version ids of the interfaces that the plugin depends on, by alias. */
  @JsonObject() interfaces!: Record<string, string>;

  /** Version ids of the integrations that the plugin depends on, by alias. */
  @JsonObject() integrations!: Record<string, string>;
}

/** Plugin that cannot be installed, with a message for the user. */
export class PluginProblem {
  @IsString() alias!: string;
  @IsString() problem!: string;
}

/** A plugin in neither list does not exist for the workspace. */
export class InstallablePlugins {
  @ListOf(InstallablePlugin) plugins!: InstallablePlugin[];
  @ListOf(PluginProblem) problems!: PluginProblem[];
}

export class FindIntegrationOwner {
  @IsString() id!: string;
}

export class IntegrationOwner {
  /** `null` when the version does not exist. */
  @Nullable() @IsString() workspaceId!: string | null;
}

export const resolution = {
  owner: operation({
    subject: 'hub.resolution.owner',
    summary: 'Gets the workspace that owns a version of an integration.',
    access: service,
    input: FindIntegrationOwner,
    output: IntegrationOwner,
  }),
  integrations: operation({
    subject: 'hub.resolution.integrations',
    summary: 'Gets the definitions that installing these versions of integrations needs.',
    access: service,
    input: ResolveIntegrations,
    output: InstallableIntegrations,
  }),
  plugins: operation({
    subject: 'hub.resolution.plugins',
    summary:
      'Gets versions of plugins, with their entity references resolved by the integrations that they are bound to.',
    access: service,
    input: ResolvePlugins,
    output: InstallablePlugins,
  }),
};

/**
 * Change notification: a version of an integration or plugin was changed or deleted. Services with copies of it fetch
 * it again.
 */
export class HubEntryChanged {
  @IsIn(['integration', 'plugin']) kind!: 'integration' | 'plugin';
  @IsString() id!: string;
  @IsBoolean() isDeleted!: boolean;
  @Nullable() @IsString() workspaceId!: string | null;
}

export const hubEntryChanged = event({ subject: 'hub.entryChanged', data: HubEntryChanged });

export const refreshInstallations = consumer({ name: 'admin.refreshInstallations', event: hubEntryChanged });
