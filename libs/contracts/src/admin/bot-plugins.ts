import { IsBoolean, IsString, Length, MaxLength } from 'class-validator';
import { maxConfigurationBytes } from '../definition';
import { JsonObject, MapOf, Optional } from '../fields';
import { FromHub } from './bot-integrations';

export const maxInstalledPlugins = 30;
const maxDependencies = 50;

/** The installed integration that stands for an interface which the plugin depends on. */
export class BindInterface {
  /** Version id. */
  @IsString()
  @Length(1, 200)
  integrationId!: string;

  /** Of the installation; may be absent when the bot has one of this integration. */
  @Optional()
  @IsString()
  @MaxLength(200)
  integrationAlias?: string;

  /** Of the interface inside the integration; may be absent when it implements the interface once. */
  @Optional()
  @IsString()
  @MaxLength(200)
  integrationInterfaceAlias?: string;
}

/** The installed integration that the plugin depends on. */
export class BindIntegration {
  /** Version id. */
  @IsString()
  @Length(1, 200)
  integrationId!: string;

  @IsString()
  @MaxLength(200)
  integrationAlias!: string;
}

/** Installs a plugin or changes one that is installed; what is absent stays, or is as for a new one. */
export class ChangePlugin {
  /** Version id. */
  @IsString()
  @Length(1, 200)
  id!: string;

  /** A new one is. */
  @Optional()
  @IsBoolean()
  enabled?: boolean;

  @Optional()
  @JsonObject({ maxBytes: maxConfigurationBytes })
  configuration?: Record<string, unknown>;

  @Optional()
  @MapOf(BindInterface, { maxEntries: maxDependencies })
  interfaces?: Record<string, BindInterface>;

  @Optional()
  @MapOf(BindIntegration, { maxEntries: maxDependencies })
  integrations?: Record<string, BindIntegration>;
}

export class BoundInterface extends BindIntegration {
  @Optional()
  @IsString()
  integrationInterfaceAlias?: string;

  /** Version id. */
  @IsString()
  interfaceId!: string;
}

/** A plugin that a bot has installed. */
export class BotPlugin extends FromHub {
  @IsString()
  readmeUrl!: string;

  /** Empty for roles below developer, since it may hold secrets. */
  @JsonObject()
  configuration!: Record<string, unknown>;

  @MapOf(BoundInterface)
  interfaces!: Record<string, BoundInterface>;

  @MapOf(BindIntegration)
  integrations!: Record<string, BindIntegration>;
}
