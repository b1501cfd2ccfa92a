import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey } from 'typeorm';
import { IntegrationEntity } from './integration.entity';

/** Code of an integration, in a table of its own, since it may have 50 MB. */
@Entity('integration_code')
export class IntegrationCodeEntity {
  @PrimaryIdColumn() @ForeignKey(() => IntegrationEntity, { onDelete: 'CASCADE' }) integration_id!: string;
  @Column('text') code!: string;
}
