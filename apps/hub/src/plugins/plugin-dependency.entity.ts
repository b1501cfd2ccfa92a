import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Entity, ForeignKey, Index } from 'typeorm';
import { IntegrationEntity } from '../integrations/integration.entity';
import { InterfaceEntity } from '../interfaces/interface.entity';
import { PluginEntity } from './plugin.entity';

/** Dependency of a plugin on an interface, which restricts the deletion of the interface. */
@Entity('plugin_interface')
@Index('plugin_interface_id', ['interface_id'])
export class PluginInterfaceEntity {
  @PrimaryIdColumn() @ForeignKey(() => PluginEntity, { onDelete: 'CASCADE' }) plugin_id!: string;
  @PrimaryIdColumn() alias!: string;
  @IdColumn() @ForeignKey(() => InterfaceEntity) interface_id!: string;
}

/** Dependency of a plugin on an integration, which restricts the deletion of the integration. */
@Entity('plugin_integration')
@Index('plugin_integration_id', ['integration_id'])
export class PluginIntegrationEntity {
  @PrimaryIdColumn() @ForeignKey(() => PluginEntity, { onDelete: 'CASCADE' }) plugin_id!: string;
  @PrimaryIdColumn() alias!: string;
  @IdColumn() @ForeignKey(() => IntegrationEntity) integration_id!: string;
}
