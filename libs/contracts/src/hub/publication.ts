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

/** What every look at a version of an integration, interface or plugin shows. */
export class PublicationLabels {
  /** Version id. */
  @IsString()
  id!: string;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;

  @IsString()
  name!: string;

  @IsString()
  version!: string;

  @IsString()
  title!: string;

  @IsString()
  description!: string;

  /** Empty, or a `data:` URL. */
  @IsString()
  iconUrl!: string;
}

/** What may be said of any of them: what is absent stays, or is empty in a new one. */
export class PublicationDraft {
  @Optional()
  @IsString()
  @MaxLength(200)
  sdkVersion?: string;

  /** Base64 of an image of at most 100 KB; empty for none. */
  @Optional()
  @IsString()
  @MaxLength(200_000)
  icon?: string;

  /** Base64 of at most 100 KB of Markdown; empty for none. */
  @Optional()
  @IsString()
  @MaxLength(200_000)
  readme?: string;

  /** The name unless it is said. */
  @Optional()
  @IsString()
  @Length(1, 64)
  title?: string;

  @Optional()
  @IsString()
  @MaxLength(256)
  description?: string;

  /** Everybody may see it. Where there is a `visibility` too, that wins. Takes the role of a manager. */
  @Optional()
  @IsBoolean()
  public?: boolean;
}

/** With a name, all of its versions come in one page. */
export class ListPublications extends PageQuery {
  @QueryString({ maxLength: 200 })
  name?: string;

  /** A semver version, a range, or `latest`: the highest of each name that is no pre-release. */
  @QueryString({ maxLength: 200 })
  version?: string;
}

export class PublicationName {
  @PathParam()
  name!: string;

  /** Exact, a semver range, or `latest`: the highest that is no pre-release. */
  @PathParam()
  version!: string;
}
