import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity } from 'typeorm';

/** Copy of a workspace's public fields. Admin owns the workspace and announces changes by event. */
@Entity('workspace')
export class WorkspaceEntity {
  @PrimaryIdColumn() id!: string;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) handle!: string | null;
  @Column({ type: 'timestamptz', precision: 3 }) updated_at!: Date;
}
