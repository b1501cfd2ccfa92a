import type { Visibility } from '@parley/contracts/hub/publication';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column } from 'typeorm';

/** Common columns of `integration`, `interface` and `plugin`, which have a row for each version. */
export abstract class PublicationEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() workspace_id!: string;
  @IdColumn() name!: string;
  @IdColumn() version!: string;

  /** Sort key: orders versions as semver does. */
  @IdColumn() version_key!: string;

  @Column('boolean') is_prerelease!: boolean;

  /** Unlisted rows are public, but not in lists. */
  @Column('text') visibility!: Visibility;

  @Column('text') title!: string;
  @Column('text') description!: string;
  @Column('text', { nullable: true }) sdk_version!: string | null;
  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;
}

/** Row of a list of publications. */
export interface PublicationRow extends Omit<PublicationEntity, 'version_key' | 'is_prerelease' | 'sdk_version'> {
  icon_url: string;
  readme_url: string;
}
