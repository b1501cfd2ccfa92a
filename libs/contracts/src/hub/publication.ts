import { IsBoolean, IsString, Length, MaxLength } from 'class-validator';
import { Optional } from '../fields';
import { PageQuery } from '../paging';
import { PathParam, QueryString } from '../query-fields';

export const visibilities = ['public', 'private', 'unlisted'] as const;
export type Visibility = (typeof visibilities)[number];
export const verificationStatuses = ['unapproved', 'pending', 'approved', 'rejected'] as const;
export type VerificationStatus = (typeof verificationStatuses)[number];
export const lifecycleStatuses = ['published', 'deprecated'] as const;
export type LifecycleStatus = (typeof lifecycleStatuses)[number];

export class PublicationLabels {
  /** Version id. */
  @IsString() id!: string;

  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
  @IsString() name!: string;
  @IsString() version!: string;
  @IsString() title!: string;
  @IsString() description!: string;

  /** Empty, or a `data:` URL. Lists have 4 MB of icons, and bots no icon over 100 KiB: others are empty there. */
  @IsString() iconUrl!: string;
}

/** Labels to create or update. Absent fields stay unchanged, or are empty in a new version. */
export class PublicationDraft {
  @Optional() @IsString() @MaxLength(200) sdkVersion?: string;

  /** Base64 of an image of at most 1 MiB; empty for none. */
  @Optional() @IsString() @MaxLength(2_000_000) icon?: string;

  /** Base64 of Markdown of at most 1 MiB; empty for none. */
  @Optional() @IsString() @MaxLength(2_000_000) readme?: string;

  /** Default: the name. */
  @Optional() @IsString() @Length(1, 64) title?: string;

  @Optional() @IsString() @MaxLength(256) description?: string;

  /** Visible to everyone. `visibility` takes precedence. Requires the role manager. */
  @Optional() @IsBoolean() public?: boolean;
}

/** A filter on `name` returns all versions in one page. */
export class ListPublications extends PageQuery {
  @QueryString({ maxLength: 200 }) name?: string;

  /** A semver version or range, or `latest`: the highest version of each name that is not a pre-release. */
  @QueryString({ maxLength: 200 }) version?: string;
}

export class PublicationName {
  @PathParam() name!: string;

  /** An exact version, a semver range, or `latest`: the highest version that is not a pre-release. */
  @PathParam() version!: string;
}
