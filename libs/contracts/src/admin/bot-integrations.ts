import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsString, Length, MaxLength } from 'class-validator';
import { maxConfigurationBytes } from '../definition';
import { JsonObject, Nullable, Optional } from '../fields';
import {
  type LifecycleStatus,
  lifecycleStatuses,
  PublicationLabels,
  type VerificationStatus,
  verificationStatuses,
  type Visibility,
  visibilities,
} from '../hub/publication';

export const maxInstalledIntegrations = 30;

/** An alias also begins the names of what is declared under it: `alias:event`, `alias#action`. */
export const aliasPattern = /^[^#:]{1,200}$/;

export const installationStatuses = [
  'registration_pending',
  'registered',
  'registration_failed',
  'unregistration_pending',
  'unregistered',
  'unregistration_failed',
] as const;

export type InstallationStatus = (typeof installationStatuses)[number];

/** Installs an integration or changes one that is installed; what is absent stays, or is as for a new one. */
export class ChangeInstallation {
  /** A new one is. */
  @Optional()
  @IsBoolean()
  enabled?: boolean;

  /** Version id. Another one than before switches the version and keeps the webhook. */
  @Optional()
  @IsString()
  @Length(1, 200)
  integrationId?: string;

  /** `null` is the integration's own configuration, else one of its other ones. */
  @Nullable()
  @IsString()
  @MaxLength(200)
  configurationType?: string | null;

  @Optional()
  @JsonObject({ maxBytes: maxConfigurationBytes })
  configuration?: Record<string, unknown>;

  /** Names of channels of the integration. */
  @Optional()
  @IsArray()
  @ArrayMaxSize(100)
  @IsString({ each: true })
  disabledChannels?: string[];
}

/** What a bot shows of something that it has from the hub. */
export class FromHub extends PublicationLabels {
  @IsBoolean()
  enabled!: boolean;

  /** Whether `visibility` is `public`. */
  @IsBoolean()
  public!: boolean;

  @IsIn(visibilities)
  visibility!: Visibility;

  @IsIn(lifecycleStatuses)
  lifecycleStatus!: LifecycleStatus;
}

/** An integration that a bot has installed. */
export class BotIntegration extends FromHub {
  @IsIn(verificationStatuses)
  verificationStatus!: VerificationStatus;

  @IsString()
  webhookUrl!: string;

  @IsString()
  webhookId!: string;

  /** Set by the integration, to find the bot that a shared webhook is for. */
  @Optional()
  @IsString()
  identifier?: string;

  @Nullable()
  @IsString()
  configurationType!: string | null;

  /** Empty for roles below developer, since it may hold secrets. */
  @JsonObject()
  configuration!: Record<string, unknown>;

  @IsIn(installationStatuses)
  status!: InstallationStatus;

  @Nullable()
  @IsString()
  statusReason!: string | null;

  @IsArray()
  @IsString({ each: true })
  disabledChannels!: string[];
}
