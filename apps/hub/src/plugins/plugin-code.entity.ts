import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Code of plugins, in a table of its own, since it may have 50 MB. Versions with the same code share a row. */
@Entity('plugin_code')
export class PluginCodeEntity {
  /** SHA-256 of the content. */
  @PrimaryColumn('bytea') hash!: Buffer;

  @Column('text') content!: string;
}
