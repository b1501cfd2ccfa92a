import { IsBoolean, IsString, Length, MaxLength } from 'class-validator';
import { definitionLimits, definitionName, maxConfigurationBytes, RecurringEventDefinition } from '../definition';
import { JsonObject, MapOf, Nested, Optional } from '../fields';
import { FromHub } from './bot-integrations';

export const maxInstalledPlugins = 30;
const maxDependencies = 50;

/** Installed integration that implements an interface which the plugin depends on. */
export class BindInterface {
  /** Version id. */
  @IsString() @Length(1, 200) integrationId!: string;

  /** Alias of the installation; optional when the bot has installed the integration once. */
  @Optional() @IsString() @MaxLength(200) integrationAlias?: string;

  /** Alias of the interface within the integration; optional when the integration implements the interface once. */
  @Optional() @IsString() @MaxLength(200) integrationInterfaceAlias?: string;
}

export class BindIntegration {
  /** Version id. */
  @IsString() @Length(1, 200) integrationId!: string;

  @IsString() @MaxLength(200) integrationAlias!: string;
}

/** Part of the plugin's definition that its version in the hub does not contain. */
export class PluginDefinitionCopy {
  /** Recurring events, which the bot gets as `alias#name` with the type `alias#type`. */
  @Optional()
  @MapOf(RecurringEventDefinition, { maxEntries: definitionLimits.recurringEvents, key: definitionName })
  recurringEvents?: Record<string, RecurringEventDefinition>;
}

/**
 * Installs a plugin or changes an installed one. Absent fields stay unchanged, or take the default for a new
 * installation.
 */
export class ChangePlugin {
  /** Version id. */
  @IsString() @Length(1, 200) id!: string;

  /** True by default. */
  @Optional() @IsBoolean() enabled?: boolean;

  @Optional() @JsonObject({ maxBytes: maxConfigurationBytes }) configuration?: Record<string, unknown>;
  @Optional() @MapOf(BindInterface, { maxEntries: maxDependencies }) interfaces?: Record<string, BindInterface>;
  @Optional() @MapOf(BindIntegration, { maxEntries: maxDependencies }) integrations?: Record<string, BindIntegration>;
  @Optional() @Nested(PluginDefinitionCopy) definition?: PluginDefinitionCopy;
}

export class BoundInterface extends BindIntegration {
  @Optional() @IsString() integrationInterfaceAlias?: string;

  /** Version id. */
  @IsString() interfaceId!: string;
}

export class BotPlugin extends FromHub {
  @IsString() readmeUrl!: string;

  /** Empty for roles below developer, since it may hold secrets. */
  @JsonObject() configuration!: Record<string, unknown>;

  @MapOf(BoundInterface) interfaces!: Record<string, BoundInterface>;
  @MapOf(BindIntegration) integrations!: Record<string, BindIntegration>;
}
