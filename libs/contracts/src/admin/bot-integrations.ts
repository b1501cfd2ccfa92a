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

/** Alias of an installation. It prefixes the names that the installation declares: `alias:event`, `alias#action`. */
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

/**
 * Installs an integration or changes an installed one. Absent fields stay unchanged, or take the default for a new
 * installation.
 */
export class ChangeInstallation {
  /** True by default. */
  @Optional() @IsBoolean() enabled?: boolean;

  /** Version id. A different version of the integration replaces the installed one and keeps its webhook. */
  @Optional() @IsString() @Length(1, 200) integrationId?: string;

  /** Name of one of the additional configurations of the integration; `null` selects its main configuration. */
  @Nullable() @IsString() @MaxLength(200) configurationType?: string | null;

  @Optional() @JsonObject({ maxBytes: maxConfigurationBytes }) configuration?: Record<string, unknown>;
  @Optional() @IsArray() @ArrayMaxSize(100) @IsString({ each: true }) disabledChannels?: string[];
}

export class FromHub extends PublicationLabels {
  @IsBoolean() enabled!: boolean;

  /** True when `visibility` is `public`. */
  @IsBoolean() public!: boolean;

  @IsIn(visibilities) visibility!: Visibility;
  @IsIn(lifecycleStatuses) lifecycleStatus!: LifecycleStatus;
}

export class BotIntegration extends FromHub {
  @IsIn(verificationStatuses) verificationStatus!: VerificationStatus;
  @IsString() webhookUrl!: string;
  @IsString() webhookId!: string;

  /** Identifier that the integration has set, to route requests to a shared webhook to this bot. */
  @Optional() @IsString() identifier?: string;

  @Nullable() @IsString() configurationType!: string | null;

  /** Empty for roles below developer, since it may hold secrets. */
  @JsonObject() configuration!: Record<string, unknown>;

  @IsIn(installationStatuses) status!: InstallationStatus;
  @Nullable() @IsString() statusReason!: string | null;
  @IsArray() @IsString({ each: true }) disabledChannels!: string[];
}
