import type { Implementation } from '@parley/contracts/hub/integrations';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { InterfaceEntity } from '../interfaces/interface.entity';
import { IntegrationEntity } from './integration.entity';

/** Interface that an integration implements. */
@Entity('integration_interface')
@Index('integration_interface_id', ['interface_id'])
export class IntegrationInterfaceEntity {
  @PrimaryIdColumn() @ForeignKey(() => IntegrationEntity, { onDelete: 'CASCADE' }) integration_id!: string;
  @PrimaryIdColumn() alias!: string;

  /** Restricts the deletion of an interface that an integration implements. */
  @IdColumn() @ForeignKey(() => InterfaceEntity, { name: 'integration_interface_interface' }) interface_id!: string;

  /** Name of the interface as of the declaration; so is `version`. */
  @IdColumn() name!: string;

  @IdColumn() version!: string;

  /** The integration's names for the entities, actions, events and channels of the interface. */
  @Column('json') names!: Pick<Implementation, 'entities' | 'actions' | 'events' | 'channels'>;
}
