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

/** What a bot shows of an integration or plugin that it has installed. */
export class HubSummary extends PublicationLabels {
  @IsString()
  readmeUrl!: string;

  @IsIn(visibilities)
  visibility!: Visibility;

  /** Of integrations only; plugins are never verified. */
  @IsIn(verificationStatuses)
  verificationStatus!: VerificationStatus;

  @IsIn(lifecycleStatuses)
  lifecycleStatus!: LifecycleStatus;
}

/** What installing an integration needs to know of it. */
export class InstallableIntegration extends HubSummary {
  /** JSON schema of the configuration. */
  @JsonObject()
  configurationSchema!: Record<string, unknown>;

  /** JSON schemas of the other configurations, by configuration type. */
  @JsonObject()
  configurationSchemas!: Record<string, Record<string, unknown>>;

  @IsArray()
  @IsString({ each: true })
  channels!: string[];

  @JsonObject()
  states!: Record<string, IntegrationState>;

  /** It has a url or code, so that the platform has somebody to tell of an installation. */
  @IsBoolean()
  isCallable!: boolean;

  /** Version ids of the interfaces that it implements, by alias. */
  @JsonObject()
  interfaces!: Record<string, string>;
}

export class ResolveIntegrations {
  /** Whose private integrations may be found. */
  @IsString()
  workspaceId!: string;

  @IsArray()
  @IsString({ each: true })
  ids!: string[];

  /** Version ids that the bot has already: those of `ids` are found as long as they exist, whoever may see them by now. */
  @IsArray()
  @IsString({ each: true })
  installedIds!: string[];
}

export class InstallableIntegrations {
  /** Those that exist and that the workspace may install or the bot has already, in any order. */
  @ListOf(InstallableIntegration)
  integrations!: InstallableIntegration[];
}

/** Which integration of the bot implements an interface that a plugin depends on. */
export class InterfaceBinding {
  @IsString()
  integrationId!: string;

  /** Alias of the interface inside the integration; absent when the integration implements it once. */
  @Optional()
  @IsString()
  integrationInterfaceAlias?: string;
}

export class PluginToResolve {
  /** Alias under which the bot has it. */
  @IsString()
  alias!: string;

  @IsString()
  id!: string;

  @MapOf(InterfaceBinding)
  interfaces!: Record<string, InterfaceBinding>;
}

export class ResolvePlugins {
  @IsString()
  workspaceId!: string;

  @ListOf(PluginToResolve)
  plugins!: PluginToResolve[];

  /** Version ids of plugins and integrations that the bot has already, as with integrations. */
  @IsArray()
  @IsString({ each: true })
  installedIds!: string[];
}

/** A plugin with the entity references of its schemas replaced by those of the bound integrations. */
export class InstallablePlugin extends HubSummary {
  @IsString()
  alias!: string;

  @JsonObject()
  configurationSchema!: Record<string, unknown>;

  /** By name, as the plugin declares them: the bot prefixes them with the alias. */
  @JsonObject()
  states!: Record<string, StateDefinition>;

  @JsonObject()
  events!: Record<string, EventDefinition>;

  @JsonObject()
  actions!: Record<string, ActionDefinition>;

  @JsonObject()
  userTags!: Record<string, TagDefinition>;

  @JsonObject()
  conversationTags!: Record<string, TagDefinition>;

  @JsonObject()
  messageTags!: Record<string, TagDefinition>;

  /** Version ids of the interfaces that it depends on, by alias. */
  @JsonObject()
  interfaces!: Record<string, string>;

  /** Version ids of the integrations that it depends on, by alias. */
  @JsonObject()
  integrations!: Record<string, string>;
}

/** A plugin that cannot be installed, and why, in words for whoever tried. */
export class PluginProblem {
  @IsString()
  alias!: string;

  @IsString()
  problem!: string;
}

/** One that is in neither list does not exist for the workspace. */
export class InstallablePlugins {
  @ListOf(InstallablePlugin)
  plugins!: InstallablePlugin[];

  @ListOf(PluginProblem)
  problems!: PluginProblem[];
}

export class FindIntegrationOwner {
  @IsString()
  id!: string;
}

export class IntegrationOwner {
  /** `null` when there is no such version. */
  @Nullable()
  @IsString()
  workspaceId!: string | null;
}

export const resolution = {
  owner: operation({
    subject: 'hub.resolution.owner',
    summary: 'Says which workspace this version of an integration belongs to.',
    access: service,
    input: FindIntegrationOwner,
    output: IntegrationOwner,
  }),
  integrations: operation({
    subject: 'hub.resolution.integrations',
    summary: 'Gives what installing these versions of integrations needs to know.',
    access: service,
    input: ResolveIntegrations,
    output: InstallableIntegrations,
  }),
  plugins: operation({
    subject: 'hub.resolution.plugins',
    summary:
      'Gives these versions of plugins with their entity references resolved by the integrations they are bound to.',
    access: service,
    input: ResolvePlugins,
    output: InstallablePlugins,
  }),
};

/** A version of an integration or plugin changed or went; whoever has it installed asks for it again. */
export class HubEntryChanged {
  @IsIn(['integration', 'plugin'])
  kind!: 'integration' | 'plugin';

  @IsString()
  id!: string;

  @IsBoolean()
  isDeleted!: boolean;

  @Nullable()
  @IsString()
  workspaceId!: string | null;
}

export const hubEntryChanged = event({ subject: 'hub.entryChanged', data: HubEntryChanged });

export const refreshInstallations = consumer({ name: 'admin.refreshInstallations', event: hubEntryChanged });
